import textwrap

import pytest

from smith_server.codebase.definer import definitions
from smith_server.codebase.symbol import Symbol, pack, unpack

SAMPLES = {
    "a.py": (
        """
        LIMIT = 3
        class A(B):
            size: int = 0
            @property
            def run(self):
                def inner():
                    pass
        async def main(): ...
        """,
        "constant LIMIT 2|class A 3-8|field A.size 4|method A.run 6-8|function run.inner 7-8|function main 9",
    ),
    "a.js": (
        """
        export const f = async (a) => a;
        export default class A extends B {
          #x = 1;
          constructor() { super(); }
          static get y() { return 1; }
          go = () => 2;
        }
        A.prototype.old = function () {};
        const o = { p() {}, q: function () {} };
        function* gen() {}
        """,
        "function f 2|class A 3-8|field A.#x 4|method A.constructor 5|method A.y 6|method A.go 7|function old 9"
        "|variable o 10|method o.p 10|function o.q 10|function gen 11",
    ),
    "a.ts": (
        """
        export interface I { go(): void; size: number }
        type T = string | number;
        enum E { A, B }
        namespace N { export function inner(): void {} }
        abstract class A { private x = 1; abstract go(): void; run<T>(a: T): T { return a; } }
        declare function f(a: string): void;
        """,
        "interface I 2|method I.go 2|field I.size 2|type T 3|enum E 4|module N 5|function N.inner 5|class A 6"
        "|field A.x 6|method A.go 6|method A.run 6|function f 7",
    ),
    "a.tsx": ("export const View = () => <div>{1}</div>;\n", "function View 1"),
    "a.rs": (
        """
        pub struct P { x: i32 }
        impl<T> Tr for P<T> {
            fn go(&self) {}
        }
        trait Tr { fn go(&self); }
        enum E { A }
        const C: i32 = 1;
        macro_rules! mm { () => {} }
        mod m { pub fn f() {} }
        """,
        "struct P 2|method P.go 4|interface Tr 6|method Tr.go 6|enum E 7|constant C 8|macro mm 9|module m 10"
        "|function m.f 10",
    ),
    "a.go": (
        """
        package main
        type S struct { a int }
        type I interface { Do(x int) error }
        func (s *S) Do(x int) error { return nil }
        const K = 1
        func Make[T any](a T) {}
        """,
        "struct S 3|interface I 4|method I.Do 4|method S.Do 5|constant K 6|function Make 7",
    ),
    "a.c": (
        """
        #define MAX(a, b) a
        typedef struct node { int x; } Node;
        static const char *names[] = {"a"};
        int proto(void);
        static char **
        words(int a)
        {
            return 0;
        }
        EXPORT_API int exported(int a) { return a; }
        enum color { RED };
        """,
        "macro MAX 2-3|type Node 3|struct node 3|variable names 4|prototype proto 5|function words 7-10"
        "|function exported 11|enum color 12",
    ),
    "a.h": (
        "namespace n { class LIB_EXPORT A { A(); int go() { return 1; } }; }\n",
        "namespace n 1|class n.A 1|prototype A.A 1|method A.go 1",
    ),
    "a.cpp": (
        """
        int ns::A::run(int a) { return 1; }
        A::~A() {}
        template <class T> T *make(T a) { return 0; }
        std::string &A::name() { return n; }
        struct S { bool operator==(const S &o) const { return true; } };
        using X = int;
        """,
        "method ns::A.run 2|method A.~A 3|function make 4|method A.name 5|struct S 6|method S.operator== 6|type X 7",
    ),
    "A.java": (
        """
        public class A {
          private int f = 1;
          public A() {}
          void m() {}
          enum E { P }
          interface I { void z(); }
          record R(int a) {}
        }
        """,
        "class A 2-9|field A.f 3|method A.A 4|method A.m 5|enum A.E 6|constant E.P 6|interface A.I 7|method I.z 7"
        "|class A.R 8",
    ),
    "a.rb": (
        """
        module A
          class B < C
            X = 1
            def go?; end
            def self.make; end
            def x=(v); end
          end
        end
        """,
        "module A 2-9|class A.B 3-8|constant B.X 4|method B.go? 5|method B.make 6|method B.x= 7",
    ),
    "a.lua": (
        """
        local M = {}
        function M.a(x) end
        function M:b() end
        local function c() end
        M.d = function() end
        return { e = function() end }
        """,
        "function M.a 3|method M.b 4|function c 5|function M.d 6|function e 7",
    ),
    "run": (
        "#!/usr/bin/env bash\nX=1\ngo() { echo; }\nfunction stop { echo; }\n",
        "variable X 2|function go 3|function stop 4",
    ),
}


def told(symbols):
    for each in symbols:
        name = f"{each.parent}.{each.name}" if each.parent else each.name
        yield f"{each.kind} {name} {each.line}" + (f"-{each.end}" if each.end > each.line else "")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_tells_what_it_defines(name):
    source, expected = SAMPLES[name]
    assert "|".join(told(definitions(name, textwrap.dedent(source).encode()))) == expected


def test_the_line_of_a_definition_is_kept_and_a_long_one_is_cut():
    source = b"export const f = " + b"a" * 5000 + b" => 1, g = () => 2;\n"
    symbols = definitions("a.js", source)
    assert [each.name for each in symbols] == ["f", "g"]
    assert symbols[0].text == ("export const f = " + "a" * 103)
    assert symbols[1].text == "g = () => 2;"


@pytest.mark.parametrize("source", [b"", b"\xff\xfe\x00", b"def f(:\n  ((((", b"class \xff: pass\n", b"\r\r\r"])
def test_broken_text_is_no_failure(source):
    assert isinstance(definitions("a.py", source), list)


def test_symbols_come_back_from_their_packed_form():
    symbols = [
        Symbol("a", "function", 1, 2, "", "def a(\tb):"),
        Symbol("operator bool() const", "method", 3, 3, "X::Y", "x", 1),
        Symbol("é\n", "class", 4, 9, "", "", 2),
    ]
    packed = pack(symbols)
    assert packed.count == 3
    assert packed.names == "\na\noperator bool() const\né\n"
    assert [(each.name, each.parent, each.text, each.depth) for each in unpack(packed)] == [
        ("a", "", "def a( b):", 0),
        ("operator bool() const", "X::Y", "x", 1),
        ("é", "", "", 2),
    ]
