import pytest

from smith_server.codebase.definitions import defines


@pytest.mark.parametrize(
    ("line", "word", "language", "answer"),
    [
        ("def run(self):", "run", "python", True),
        ("    async def run(self):", "run", "python", True),
        ("class Run(Base):", "Run", "python", True),
        ("RUN = 3", "RUN", "python", True),
        ("    run = other", "run", "python", False),
        ("x = run(1)", "run", "python", False),
        ("assert run(1) == 2", "run", "python", False),
        ("from a import run", "run", "python", False),
        ("def other(run):", "run", "python", False),
        ("def run(self):", "def run", "python", True),
        ("pub fn run<T>(a: T) {", "run", "rust", True),
        ("impl<T> Run for X {", "Run", "rust", True),
        ("func (s *Server) Run(x int) error {", "Run", "go", True),
        ("type Run struct {", "Run", "go", True),
        ("export default function run() {", "run", "javascript", True),
        ("const run = () => 1", "run", "javascript", True),
        ("  run(a, b) {", "run", "javascript", True),
        ("  run(a, b);", "run", "javascript", False),
        ("  if (run(a)) {", "run", "javascript", False),
        ("static int run(int a)", "run", "c", True),
        ("  return run(a);", "run", "c", False),
        ("#define RUN 1", "RUN", "c", True),
        ("struct run {", "run", "c", True),
        ("void Server::run() {", "run", "cpp", True),
        ("(defun run (a)", "run", "elisp", True),
        ("  (run a)", "run", "elisp", False),
        ("function M.run(a)", "run", "lua", True),
        ("local run = function()", "run", "lua", True),
        ("run() {", "run", "bash", True),
    ],
)
def test_a_line_tells_whether_it_defines_the_match(line, word, language, answer):
    assert defines(line, line.index(word), language) is answer
