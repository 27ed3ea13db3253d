import pytest

from smith_server.codebase.rank import Kind, kind_of, order


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/main.rs", Kind.SOURCE),
        ("contest.py", Kind.SOURCE),
        ("README.md", Kind.OTHER),
        ("data.json", Kind.OTHER),
        ("tests/main.py", Kind.TEST),
        ("src/__tests__/a.ts", Kind.TEST),
        ("pkg/main_test.go", Kind.TEST),
        ("a.spec.ts", Kind.TEST),
        ("test_a.py", Kind.TEST),
        ("FooTest.java", Kind.TEST),
        ("node_modules/a/index.js", Kind.GENERATED),
        ("a.min.js", Kind.GENERATED),
        ("api_pb2.py", Kind.GENERATED),
        ("package-lock.json", Kind.GENERATED),
        ("zz_generated.deepcopy.go", Kind.GENERATED),
    ],
)
def test_the_name_tells_what_a_file_is(path, kind):
    assert kind_of(path) is kind


def test_source_comes_first_then_what_is_near():
    paths = ["vendor/a.c", "tests/a.c", "z/deep/a.c", "b.c", "a.c", "a.txt", "z/a.c"]
    assert sorted(paths, key=order) == ["a.c", "b.c", "z/a.c", "z/deep/a.c", "a.txt", "tests/a.c", "vendor/a.c"]
