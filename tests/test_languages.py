"""What sources of each language define, by hand; hashes, changes, and sources that mean harm."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from claude_mem_lite.codemap import languages
from claude_mem_lite.codemap.diff import Change, diff

# A source, and what it defines: kind and qualified name, in order.
TYPESCRIPT = [
    ("function add(a: number, b: number): number { return a + b }", ["function add"]),
    ("export default function () {}", ["function default"]),
    ("export default class extends Base { run() {} }", ["class default", "method default.run"]),
    ("export const twice = <T,>(x: T) => [x, x], half = async function (x: number) {}",
     ["function twice", "async_function half"]),
    ("class A<T> { #p() {} static s() {} get v() { return 1 } set v(x) {} f = () => 1; n = 1 }",
     ["class A", "method A.#p", "method A.s", "method A.v", "method A.f"]),
    ("abstract class B { abstract area(): number; constructor(private x: string) { super() } async *gen() {} }",
     ["class B", "method B.area", "method B.constructor", "async_method B.gen"]),
    ("function of(a: string): void\nfunction of(a: number): void\nfunction of(a: any) {}", ["function of"]),
    ("interface Shape { area(): number; name: string; new (x: number): Shape }",
     ["interface Shape", "method Shape.area"]),
    ("type Id = string | number\nexport enum Colour { Red }\nconst enum E { A }", ["type Id", "enum Colour", "enum E"]),
    ("namespace A.B { export function f() {} export class C { m() {} } }",
     ["function A.B.f", "class A.B.C", "method A.B.C.m"]),
    ("declare function g(x: number): void\ndeclare module 'm' { export function h(): void }",
     ["function g", "function m.h"]),
    ("function outer() { function inner() {} const arrow = () => 1; class Local { m() {} } return xs.map(x => x) }",
     ["function outer", "function outer.inner", "function outer.arrow", "class outer.Local", "method outer.Local.m"]),
    ("const api = { get() {}, put: async () => {}, deep: { del: function () {} }, 'a-b': () => 1, [k]: () => 2, n: 1 }",
     ["method api.get", "async_method api.put", "method api.deep.del", "method api.a-b"]),
    ("export const Button = memo(forwardRef((props, ref) => { return null }))\nconst n = xs.map(x => x + 1)",
     ["function Button"]),
    ("const useStore = create((set) => ({ add: () => set(1) })) as Store", ["method useStore.add"]),
    ("describe('x', () => { function helper() {} it('works', () => { const local = () => 1 }) })",
     ["function helper", "function local"]),
    ("class Outer { inner = { m() {} }; handlers = useHandlers({ on() {} }) }",
     ["class Outer", "method Outer.inner.m", "method Outer.handlers.on"]),
    ("const { a, b } = c\nlet later: () => void\nx = 1\nimport type { T } from './t'\nexport * from './u'", []),
]  # fmt: skip
TSX = [
    ("export const App = ({ name }: Props) => <div onClick={() => go()}>{name}</div>", ["function App"]),
    ("function Card() { const onClick = () => {}; return <A b={<C />} /> }", ["function Card", "function Card.onClick"]),
]  # fmt: skip
JAVASCRIPT = [
    ("exports.a = function () {}\nmodule.exports.b = () => 1\nexports.c = 1", ["function a", "function b"]),
    ("module.exports = { a, b() {}, c: function () {}, d: x => x }", ["method b", "method c", "method d"]),
    ("module.exports = function () {}", ["function default"]),
    ("module.exports = function make() {}", ["function make"]),
    ("module.exports = class Store { get() {} }", ["class Store", "method Store.get"]),
    ("Store.prototype.get = function () {}\nStore.of = () => 1", ["method Store.get", "method Store.of"]),
    ("function Old() { this.run = function () {} }", ["function Old", "function Old.run"]),
    ("export { a }\nexport default async () => { await go() }", ["async_function default"]),
    ("export function* steps() {}\nasync function load() {}", ["function steps", "async_function load"]),
    ("class A extends B { static { x() } field = function () {}; 'quoted name'() {} async load() {} }",
     ["class A", "method A.field", "method A.quoted name", "async_method A.load"]),
    ("const C = class Named { m() {} }", ["class C", "method C.m"]),
    ("var self = this\nif (x) { function inIf() {} }\n(function () { function inIife() {} })()",
     ["function inIf", "function inIife"]),
    ("export default { name: 'x', methods: { save() {} }, data: () => ({}) }",
     ["method default.methods.save", "method default.data"]),
    ("#!/usr/bin/env node\n'use strict'\nconst f = ({ a, b = () => 1 }) => a", ["function f"]),
]  # fmt: skip
GO = [
    ("package a\nfunc F(x int) error { return nil }", ["function F"]),
    ("package a\nfunc (s *Store) Get(k string) (int, error) { return 0, nil }", ["method Store.Get"]),
    ("package a\nfunc (s Store) put() {}\nfunc (Store) none() {}", ["method Store.put", "method Store.none"]),
    ("package a\nfunc (l *List[T]) Push(x T) {}\ntype List[T any] struct { items []T }",
     ["method List.Push", "struct List"]),
    ("package a\ntype Reader interface { Read(p []byte) (int, error); Closer }", ["interface Reader", "method Reader.Read"]),
    ("package a\ntype (\n\tA struct{}\n\tB = int\n\tC func(int) error\n\tD map[string]int\n)",
     ["struct A", "type B", "type C", "type D"]),
    ("package a\nfunc Map[T, U any](xs []T, f func(T) U) []U { return nil }", ["function Map"]),
    ("package a\nvar run = func() {}\nvar x = 1\nvar (\n\ty = func(a int) {}\n)", ["function run", "function y"]),
    ("package a\nfunc init() { a() }\nfunc init() { b() }", ["function init"]),
    ("package a\nfunc F() { go func() { x() }(); f := func() {}; f() }", ["function F"]),
    ("package a\nfunc F() { type local struct { a int } }", ["function F", "struct F.local"]),
    ('package a\nimport "fmt"\nconst A = 1\nvar B, C = 2, 3', []),
    ('package a\nfunc TestX(t *testing.T) { t.Run("a", func(t *testing.T) { x() }) }', ["function TestX"]),
]  # fmt: skip
RUST = [
    ("pub fn add(a: i32, b: i32) -> i32 { a + b }", ["function add"]),
    ("pub async fn load<'a>(x: &'a str) -> &'a str { x }", ["async_function load"]),
    ("struct P<T> { x: T }\nimpl<T: Clone> P<T> { pub fn new(x: T) -> Self { P { x } } fn get(&self) {} }",
     ["struct P", "method P.new", "method P.get"]),
    ("impl fmt::Display for P { fn fmt(&self) {} }\nimpl fmt::Debug for P { fn fmt(&self) {} }", ["method P.fmt"]),
    ("impl a::B<C> { const fn c() {} }", ["method B.c"]),
    ("pub trait Shape: Sized { fn area(&self) -> f64; fn name() -> &'static str { \"s\" } }",
     ["trait Shape", "method Shape.area", "method Shape.name"]),
    ("enum E { A, B(i32) }\nunion U { a: i32 }\nstruct Unit;\nstruct Tuple(i32);",
     ["enum E", "struct U", "struct Unit", "struct Tuple"]),
    ("type R<T> = Result<T, Error>;", ["type R"]),
    ("mod tests { use super::*; #[test] fn works() { assert!(true) } }", ["function tests.works"]),
    ("macro_rules! mine { () => {} }", ["function mine"]),
    ('const F: fn(i32) = |x| {};\nstatic S: &str = "fn no() {}";\nconst N: i32 = 1;', ["function F"]),
    ('extern "C" { fn puts(s: *const u8) -> i32; }', ["function puts"]),
    ("fn outer() { fn inner() {} let f = || 1; struct L; }", ["function outer", "function outer.inner", "struct outer.L"]),
    ("impl<T> From<T> for &str { fn from(t: T) -> Self { t } }", ["method str.from"]),
]  # fmt: skip
JAVA = [
    ("class A { void run() {} }", ["class A", "method A.run"]),
    ("public class A<T> extends B implements C { public A(int x) { super(x); } public <U> U m(U u) { return u; } }",
     ["class A", "method A.A", "method A.m"]),
    ("class A { int f(int a) { return 1; } int f(String a) { return 2; } }", ["class A", "method A.f"]),
    ("interface I { void q(); default int r() { return 1; } }", ["interface I", "method I.q", "method I.r"]),
    ("enum E { X { void z() {} }, Y; void w() {} }", ["enum E", "method E.z", "method E.w"]),
    ("record Point(int x, int y) { Point { check(x); } int sum() { return x + y; } }",
     ["class Point", "method Point.Point", "method Point.sum"]),
    ("@interface Marker { int value() default 1; }", ["interface Marker"]),
    ("class A { class B { class C { void m() {} } } static class D { D() {} } }",
     ["class A", "class A.B", "class A.B.C", "method A.B.C.m", "class A.D", "method A.D.D"]),
    ("class A { Runnable r = new Runnable() { public void run() {} }; int n = 1; static { x(); } }",
     ["class A", "method A.run"]),
    ('class A { @Override @Deprecated(since = "1") public final synchronized void m() throws E {} }',
     ["class A", "method A.m"]),
    ("package a.b; import java.util.*; abstract class A { protected abstract void m(); native int n(); }",
     ["class A", "method A.m", "method A.n"]),
    ("sealed interface S permits X {} final class X implements S {}", ["interface S", "class X"]),
    ("class A { void m() { Runnable r = () -> {}; class Local { void x() {} } } }",
     ["class A", "method A.m", "class A.m.Local", "method A.m.Local.x"]),
]  # fmt: skip
C = [
    ("int add(int a, int b) { return a + b; }", ["function add"]),
    ('static char *name(void) { return "x"; }', ["function name"]),
    ("int proto(int a);\nextern int x;", []),
    ("struct point { int x; };\nstruct point *make(void) { return 0; }", ["struct point", "function make"]),
    ("typedef struct { int a; } T;", ["struct T"]),
    ("typedef struct node { struct node *next; } node;", ["struct node"]),
    ("typedef int (*callback)(int);\ntypedef unsigned long size;", ["type callback", "type size"]),
    ("enum colour { RED };\nunion u { int a; };", ["enum colour", "struct u"]),
    ("#include <a.h>\n#define MAX(a, b) ((a) > (b))\nint x = 1;", []),
    ("#ifdef A\nint f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif", ["function f"]),
    ("int (*pick(int n))(int) { return 0; }", ["function pick"]),
    ("void f(struct s *x) { struct local { int a; }; }", ["function f", "struct f.local"]),
]  # fmt: skip
CPP = [
    ("class A : public B { public: A() : x(1) {} ~A() {} int f(int a) const { return 1; } void proto(); };",
     ["class A", "method A.A", "method A.~A", "method A.f"]),
    ("int A::f(int a) & noexcept { return 1; }", ["method A.f"]),
    ("void n::m::A<int>::g() {}", ["method n.m.A.g"]),
    ("template <class T> T& top(T a) { return a; }\ntemplate <> int top(int a) { return 1; }", ["function top"]),
    ("namespace n::m { struct S { void q() {} }; void free() {} }", ["struct S", "method S.q", "function free"]),
    ("struct V { V operator+(V o) { return o; } operator bool() { return true; } };",
     ["struct V", "method V.operator+", "method V.operator bool"]),
    ("enum class E { A };\nusing X = int;\ntypedef int Y;", ["enum E", "type X", "type Y"]),
    ("auto f() -> int { auto l = [](int x) { return x; }; return l(1); }", ["function f"]),
    ("class A { class B { void m() {} }; A(const A&) = delete; };", ["class A", "class A.B", "method A.B.m", "method A.A"]),
    ("class Forward;\nstruct S s;\nfriend class X;", []),
    ("int f(int) { return 1; }\nint f(double) { return 2; }", ["function f"]),
    ('extern "C" { int c(void) { return 1; } }', ["function c"]),
]  # fmt: skip
C_SHARP = [
    ("class A { void M() { } }", ["class A", "method A.M"]),
    ("namespace N.M { public partial class A<T> : B where T : new() { public A(int x) : base(x) { } } }",
     ["class A", "method A.A"]),
    ("class A { public async Task<int> Load<U>(U a, int b = 1) => 1; }", ["class A", "async_method A.Load"]),
    ("interface I { void Q(); }", ["interface I", "method I.Q"]),
    ("record R(int A);\nrecord struct P(int X) { int Sum() => X; }", ["class R", "class P", "method P.Sum"]),
    ("struct S { void W() { int Local(int z) => z; } }", ["struct S", "method S.W", "function S.W.Local"]),
    ("enum E { X }\ndelegate int D(int x);", ["enum E", "type D"]),
    ("class A { int P { get; set; } int f = 1; event X E; }", ["class A"]),
    ("class A { int F(int a) { return 1; } int F(string a) { return 2; } }", ["class A", "method A.F"]),
    ("class A { class B { class C { void M() { } } } }", ["class A", "class A.B", "class A.B.C", "method A.B.C.M"]),
    ("namespace N;\nusing System;\nstatic class X { static string Up(this string s) => s; }", ["class X", "method X.Up"]),
    ('[Attr] class A { [Fact, Trait("a", "b")] public void T() { } }', ["class A", "method A.T"]),
]  # fmt: skip
KOTLIN = [
    ("fun add(a: Int, b: Int): Int = a + b\n", ["function add"]),
    ("class A(val x: Int) : B(), C {\n  fun m(a: Int): Int = 1\n}\n", ["class A", "method A.m"]),
    ("class A {\n  companion object {\n    fun create() = A()\n  }\n}\n", ["class A", "method A.create"]),
    ("suspend fun load() {\n}\n", ["async_function load"]),
    ("fun String.shout(): String = uppercase()\n", ["method String.shout"]),
    ("object O {\n  fun o() {}\n}\n", ["class O", "method O.o"]),
    ("interface I {\n  fun q()\n}\n", ["interface I", "method I.q"]),
    ("enum class E {\n  X;\n  fun e() {}\n}\n", ["enum E", "method E.e"]),
    ("typealias T = Int\n", ["type T"]),
    ("val f = { x: Int -> x }\nval n = 1\n", ["function f"]),
    ("fun <T> gen(x: T): T {\n  fun inner() {}\n  return x\n}\n", ["function gen", "function gen.inner"]),
    ("data class P(val x: Int)\nsealed class S\n", ["class P", "class S"]),
]  # fmt: skip
RUBY = [
    ("def top(a, b = 1)\n  a\nend\n", ["function top"]),
    ("class A < B\n  def initialize(a) ; end\n  def z? ; end\nend\n", ["class A", "method A.initialize", "method A.z?"]),
    ("module M\n  class A\n    def m; end\n  end\nend\n", ["module M", "class M.A", "method M.A.m"]),
    ("class A\n  def self.build(x) = new(x)\nend\n", ["class A", "method A.build"]),
    ("class A\n  class << self\n    def inner; end\n  end\nend\n", ["class A", "method A.inner"]),
    ("class X::Y\n  def m; end\nend\n", ["class X.Y", "method X.Y.m"]),
    ("L = ->(x) { x }\nN = 1\nx = -> { 1 }\n", ["function L"]),
    ("require 'a'\nputs 1\n", []),
    ("def a!\nend\ndef a=(v)\nend\n", ["function a!", "function a="]),
    ("class A; end\nclass A; def m; end; end\n", ["class A", "method A.m"]),
    ("private def hidden(*a, **b, &c)\nend\n", ["function hidden"]),
    ("describe 'x' do\n  def helper; end\nend\n", ["function helper"]),
]  # fmt: skip
PHP = [
    ("<?php function top(array $a) { return 1; }", ["function top"]),
    ("<?php class A extends B { public function __construct(private int $x) {} static function s() {} }",
     ["class A", "method A.__construct", "method A.s"]),
    ("<?php namespace N\\M; abstract class A { abstract protected function foo(?int $a = 1): string; }",
     ["class A", "method A.foo"]),
    ("<?php interface I { public function q(); }", ["interface I", "method I.q"]),
    ("<?php trait T { function t() {} }", ["trait T", "method T.t"]),
    ("<?php enum E: string { case X = 'x'; function lab() { return 1; } }", ["enum E", "method E.lab"]),
    ("<?php $f = function ($x) { return $x; }; $g = fn($x) => $x; $n = 1;", ["function f", "function g"]),
    ("<?php if (x()) { function late() {} }", ["function late"]),
    ("<p>text</p>", []),
    ("<?php #[Route('/a')] final class A { #[Get] public function m(): void {} }", ["class A", "method A.m"]),
    ("<?php use A\\B; const X = 1; echo 'function no() {}';", []),
    ("<?php function outer() { function inner() {} return function () {}; }", ["function outer", "function outer.inner"]),
]  # fmt: skip
SWIFT = [
    ("func top(_ a: Int, to b: Int = 1) -> Int { return a }", ["function top"]),
    ("class A<T>: B { init(x: Int) { } func m() { } static func s() { } }",
     ["class A", "method A.init", "method A.m", "method A.s"]),
    ("struct S { mutating func q() { } var v: Int { return 1 } }", ["struct S", "method S.q"]),
    ("enum E: String { case a; func e() { } }", ["enum E", "method E.e"]),
    ("protocol P { func p() }", ["interface P", "method P.p"]),
    ("extension A where T: X { func ext() { } }", ["method A.ext"]),
    ("typealias TA = Int", ["type TA"]),
    ("actor Ac { func z() async throws { } }", ["class Ac", "async_method Ac.z"]),
    ("let f = { (x: Int) in x }\nlet n = 1", ["function f"]),
    ("func outer() { func inner() { } }", ["function outer", "function outer.inner"]),
    ("import Foundation\nvar x = 1", []),
    ("class A { func f(a: Int) { } func f(b: String) { } class B { func m() { } } }",
     ["class A", "method A.f", "class A.B", "method A.B.m"]),
]  # fmt: skip
CASES = {"a.ts": TYPESCRIPT, "a.tsx": TSX, "a.js": JAVASCRIPT, "a.go": GO, "a.rs": RUST, "A.java": JAVA, "a.c": C, "a.cpp": CPP, "a.cs": C_SHARP, "a.kt": KOTLIN, "a.rb": RUBY, "a.php": PHP,
    "a.swift": SWIFT,
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "source", "defined"),
    [(path, source, defined) for path, cases in CASES.items() for source, defined in cases],
)
def test_a_source_defines_what_it_says(path: str, source: str, defined: list[str]) -> None:
    """Functions, methods and types are found under the names that people call them by."""
    if languages.of(path) is None:
        pytest.skip("its grammar is in the extra [languages]")

    assert [f"{each.kind} {each.qualified_name}" for each in languages.extract(path, source)] == defined


@pytest.mark.parametrize(
    ("path", "source", "told"),
    [
        ("a.ts", "/**\n * Draws it.\n * Twice.\n */\n@Inject({ a: 1 })\nexport class A<T>\n  extends B<T> { }",
         ("A<T> extends B<T>", "Draws it.", ("@Inject({ a: 1 })",), 6, 7)),
        ("a.ts", "// eslint-disable-next-line\n// Adds.\nexport const add = (a: number, /* second */ b = 1): number => {\n}",
         ("add(a: number, b = 1): number", "Adds.", (), 3, 4)),
        ("a.js", "const x = 1 // not of f\nfunction f(a,\n  b) {}", ("f(a, b)", None, (), 2, 3)),
        ("a.js", "/* of the file */\n\nexport const one = a => a", ("one(a)", None, (), 3, 3)),
        ("a.go", "package a\n\n// Get returns it.\n//\n// More.\nfunc (s *S) Get(k string) (int, error) {\n}",
         ("Get(k string) (int, error)", "Get returns it.", (), 6, 7)),
        ("a.rs", "/// Makes one.\n#[inline]\n#[must_use]\npub fn new<T>(x: T) -> Self\nwhere T: Copy {\n}",
         ("new<T>(x: T) -> Self where T: Copy", "Makes one.", ("#[inline]", "#[must_use]"), 4, 6)),
        ("A.java", '/** Runs. @since 1 */\n@Path("/a")\n@Get\npublic class A extends B {\n}',
         ("A extends B", "Runs. @since 1", ('@Path("/a")', "@Get"), 4, 5)),
    ],
)  # fmt: skip
def test_a_definition_is_told_with_signature_doc_and_decorators(
    path: str, source: str, told: tuple[object, ...]
) -> None:
    """The signature is one line without comments, the doc the first line of the comment right above."""
    (found,) = languages.extract(path, source)

    assert (found.signature, found.docstring, found.decorators, found.line, found.end_line) == told


SAME = {
    "a.ts": ("function f(a: A, b = 'x  y') {\n  return a.b + 1;\n}",
             "// doc\nfunction   f( a:A,b='x  y' ) { /* why */ return a . b+1 ; }",
             "function g(a: A, b = 'x  y') {\n  return a.b + 1;\n}"),
    "a.go": ("package a\nfunc F(a int) int {\n\treturn f(a, 1)\n}",
             "package a\n\n// F does.\nfunc F(a  int) int { // here\n\treturn f(\n\t\ta,\n\t\t1,\n\t)\n}",
             "package a\nfunc G(a int) int {\n\treturn f(a, 1)\n}"),
    "a.rs": ("fn f(a: i32) -> i32 { a + 1 }", "/// Doc.\nfn f( a : i32 )->i32\n{\n  a+1 // one\n}", "fn g(a: i32) -> i32 { a + 1 }"),
    "A.java": ("class A { int f(int a) { return a + 1; } }", "class A {\n/** Doc. */\nint f( int a )\n{ return a+1; }\n}",
               "class A { int g(int a) { return a + 1; } }"),
    "a.tsx": ("const A = () => <p a='x  y'>{b + 1}</p>", "// A\nconst A = ()=> <p a='x  y'>{ b+1 }</p>",
              "const B = () => <p a='x  y'>{b + 1}</p>"),
    "a.js": ("const f = (a) => { return a + 1 }", "/** f */\nconst f=( a )=>{\n  return a + 1 // one\n}",
             "const g = (a) => { return a + 1 }"),
    "a.c": ("int f(int a) { return a + 1; }", "/* f */\nint f( int a )\n{ return a+1; }", "int g(int a) { return a + 1; }"),
    "a.cpp": ("int A::f(int a) { return a + 1; }", "// f\nint A::f( int a )\n{ return a+1; }", "int A::g(int a) { return a + 1; }"),
    "a.cs": ("class A { int F(int a) => a + 1; }", "class A {\n/// <summary>F</summary>\nint F( int a )=>a+1; }",
             "class A { int G(int a) => a + 1; }"),
    "a.kt": ("fun f(a: Int): Int {\n  return a + 1\n}\n", "/** f */\nfun f( a:Int ):Int {\n\n  return a+1 // one\n}\n",
             "fun g(a: Int): Int {\n  return a + 1\n}\n"),
    "a.rb": ("def f(a)\n  a + 1\nend\n", "# f\ndef f( a )\n\n    a+1 # one\nend\n", "def g(a)\n  a + 1\nend\n"),
    "a.php": ("<?php function f($a) { return $a + 1; }", "<?php\n/** f */\nfunction f( $a )\n{ return $a+1; # one\n}",
              "<?php function g($a) { return $a + 1; }"),
    "a.swift": ("func f(a: Int) -> Int { return a + 1 }", "/// f\nfunc f( a:Int )->Int\n{ return a+1 }",
                "func g(a: Int) -> Int { return a + 1 }"),
}  # fmt: skip
OTHER = {
    "a.ts": [("a.b + 1", "a.b + 2"), ("'x  y'", "'x y'"), ("return a", "returna"), ("a: A", "a: B"), ("a.b + 1", "a.b - 1")],
    "a.go": [("int {", "int32 {"), ("f(a, 1)", "g(a, 1)"), ("return f", "f")],
    "a.rs": [("a + 1", "a - 1"), ("-> i32", "-> i64")],
    "A.java": [("a + 1", "a"), ("int a", "long a")],
    "a.tsx": [("b + 1", "b + 2"), ("'x  y'", "'x y'"), ("<p ", "<b ")],
    "a.js": [("a + 1", "a - 1"), ("(a)", "(a, b)")],
    **{path: [("return ", "x = "), ("+ 1", "+ 2")] for path in ("a.c", "a.cpp", "a.kt", "a.php", "a.swift")},
    "a.cs": [("a + 1", "a + 2"), ("int a", "long a")],
    "a.rb": [("a + 1", "a + 2"), ("(a)", "(a, b)")],
}  # fmt: skip


@pytest.mark.parametrize("path", SAME)
def test_a_hash_does_not_see_comments_space_and_the_own_name(path: str) -> None:
    """What only a reader or a formatter can tell changes no hash; of a renamed function all is the same."""
    if languages.of(path) is None:
        pytest.skip("its grammar is in the extra [languages]")
    source, reformatted, renamed = SAME[path]

    assert diff(source, reformatted, path=path) == ()
    of = [languages.extract(path, each)[-1] for each in (source, renamed)]
    assert of[0].body_hash == of[1].body_hash
    assert of[0].qualified_name != of[1].qualified_name


@pytest.mark.parametrize(("path", "change"), [(path, each) for path in OTHER for each in OTHER[path]])
def test_a_hash_sees_every_other_change(path: str, change: tuple[str, str]) -> None:
    """Operators, operands, literals, types and the words of a statement count."""
    if languages.of(path) is None:
        pytest.skip("its grammar is in the extra [languages]")
    source = SAME[path][0]

    changed = diff(source, source.replace(*change), path=path)

    assert [each.change_type for each in changed] == ["modified"]


def test_a_type_is_not_changed_by_its_methods() -> None:
    """A method's change is the method's alone; a field's is the class's; one of several overloads is all's."""
    source = "class A { n = 1; f() { return 1 } of(a: string): void; of(a: any) { x() } }"

    method, field, overload, decorator, moved = (
        diff(source, source.replace(*words), path="a.ts")
        for words in (
            ("return 1", "return 2"),
            ("n = 1", "n = 2"),
            ("a: string", "a: number"),
            ("f()", "@Get() f()"),
            ("f() {", "g() {} f() {"),
        )
    )

    assert method == (Change("A.f", "method", "modified"),)
    assert field == (Change("A", "class", "modified"),)
    assert overload == (Change("A.of", "method", "modified"),)
    assert decorator == (Change("A.f", "method", "modified"),)
    assert moved == (Change("A.g", "method", "new"),)


def test_changes_of_go_are_told_by_name() -> None:
    """What came, went and changed between two versions of a file."""
    before = "package a\nfunc Old() {}\nfunc (s *S) Keep() { a() }\ntype S struct{ a int }\n"
    after = "package a\nfunc (s *S) Keep() { b() }\ntype S struct{ a, b int }\nfunc New() {}\n"

    assert diff(before, after, path="a.go") == (
        Change("Old", "function", "deleted"),
        Change("S.Keep", "method", "modified"),
        Change("S", "struct", "modified"),
        Change("New", "function", "new"),
    )
    assert diff(None, after, path="a.go")[0] == Change("S.Keep", "method", "new")
    assert diff(before, after, path="a.unknown") == ()


@pytest.mark.parametrize(
    ("path", "whole", "broken"),
    [
        ("a.ts", "function a() {\n  x()\n}\nfunction b() {\n  y()\n}\n", ("x()\n}", "if (x() {\n")),
        ("a.go", "func a() {\n\tx()\n}\nfunc b() {\n\ty()\n}\n", ("x()\n}", "if x() {\n")),
    ],
)
def test_what_an_error_hides_neither_came_nor_went(path: str, whole: str, broken: tuple[str, str]) -> None:
    """With a brace missing, the function behind it is not deleted, nor new when the brace is back."""
    good = (
        {"a.ts": "function good() {\n", "a.go": "package p\nfunc good() {\n"}[path]
        + "\tgood()\n" * 40
        + "}\n"
    )
    whole = good + whole
    partial = whole.replace(*broken)

    there, back = (
        {(each.qualified_name, each.change_type) for each in diff(*pair, path=path)}
        for pair in ((whole, partial), (partial, whole))
    )
    shorter = whole[: whole.rindex("func")]

    assert {name for name, what in there | back if what != "modified"} == set()
    assert diff(whole, shorter, path=path) == (Change("b", "function", "deleted"),)


HOSTILE = {
    "deep brackets": "(" * 200_000,
    "deep and whole": "x = " + "(" * 50_000 + "1" + ")" * 50_000,
    "deep functions": "function f() {" * 5_000 + "}" * 5_000,
    "deep classes": "class A {" * 5_000 + "}" * 5_000,
    "angles": "a<" * 100_000,
    "braces of all kinds": "{[(" * 60_000,
    "templates": "`${" * 60_000,
    "ternaries": "a?b:" * 50_000,
    "quotes": "'" + "a" * 200_000,
    "NUL": "\x00" * 100_000 + "function f() {}",
    "half characters": "function f() { return '\ud800' }",
    "open comment": "/*" * 100_000,
    "one line": "function f(){};" * 20_000,
    "too much": "function f() {}\n" * 100_000,
    "slashes": "\\" * 100_000,
    "directives": "#if A\n" * 30_000,
}

# Their scanners of comments in comments can't be told to stop: the worker ends, and is started again.
ENDED = {("Kotlin", "open comment"), ("Swift", "open comment")}


@pytest.mark.process
@pytest.mark.usefixtures("isolated")
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "language", [each for each in languages.LANGUAGES if each.is_installed], ids=lambda each: each.name
)
def test_a_hostile_source_is_read_or_refused_in_time(language: languages.Language, name: str) -> None:
    """Whatever a file holds costs seconds at most, and is functions or a SyntaxError."""
    path, source = f"a{language.suffixes[0]}", HOSTILE[name]
    lines = (source[at : at + 120] for at in range(0, len(source), 120))  # one line counts as minified

    for each in (source, "\n".join(lines)):
        refusal = ""
        try:
            assert len(languages.extract(path, each)) <= 500
        except SyntaxError as error:
            refusal = str(error)
        is_ended = f"ended with -{signal.SIGXCPU:d}" in refusal
        assert not is_ended or (language.name, name) in ENDED


def test_sources_with_a_bom_or_windows_lines_are_as_others() -> None:
    """A byte order mark and CRLF change no name, no line and no hash."""
    source = "package a\n\n// F does.\nfunc F() {\n\ta(\n\t\t1,\n\t)\n}\n"

    plain, windows, marked = (
        languages.extract("a.go", each) for each in (source, source.replace("\n", "\r\n"), f"\ufeff{source}")
    )

    assert plain == windows == marked
    assert plain[0].docstring == "F does."


def test_a_minified_bundle_defines_nothing() -> None:
    """A source with lines that nobody wrote is left alone; one with a single long line is not."""
    minified = "function f(){return 1};" * 1_000
    long_line = "const data = '" + "x" * 20_000 + "'\n" + "function g() {\n  return 1\n}\n" * 40

    assert languages.extract("a.js", minified) == ()
    assert [each.qualified_name for each in languages.extract("a.js", long_line)] == ["g"]


def test_a_source_with_small_errors_is_mapped_as_far_as_it_goes() -> None:
    """An error costs what is around it; a file that is all error is refused."""
    good = "function a() { return 1 }\n" * 20

    found = languages.extract("a.ts", f"{good}function b( {{ if }}\nfunction c() {{}}\n")

    assert {each.qualified_name for each in found} >= {"a"}
    with pytest.raises(SyntaxError, match="bytes are no TypeScript"):
        languages.extract("a.ts", "<<<< this is no source at all ]]]] )) :: but a text, of words >>>>\n" * 20)


def test_no_language_is_loaded_before_a_source_is_read() -> None:
    """To know the languages loads nothing of tree-sitter; to read Go loads Go alone."""
    script = (
        "import sys\n"
        "from claude_mem_lite.codemap import file_index, graph, languages\n"
        "def loaded(): return sorted(name for name in sys.modules if name.startswith('tree_sitter') and '.' not in name)\n"
        "languages.of('a.go'), languages.installed()\n"
        "print(loaded())\n"
        "languages.extract('a.py', 'def f(): pass')\n"
        "print(loaded())\n"
        "languages.extract('a.go', 'package a')\n"
        "print(loaded())\n"
    )

    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert said.stdout.splitlines() == ["[]", "[]", "['tree_sitter', 'tree_sitter_go']"]
