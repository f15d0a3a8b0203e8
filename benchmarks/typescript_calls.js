// Print the calls that TypeScript's compiler resolves to functions of a package, one JSON value per line.
// Usage: node typescript_calls.js FOLDER_OF_TYPESCRIPT FOLDER FILE…; places are offsets in the file.
"use strict";
const [, , compiler, folder, ...files] = process.argv;
const ts = require(compiler);
const fs = require("fs");
const path = require("path");

const { name } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
const program = ts.createProgram(files.map((file) => path.join(folder, file)), {
  noEmit: true, strict: true, skipLibCheck: true, jsx: ts.JsxEmit.Preserve, target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, types: [],
  paths: { [name]: [`${folder}/src/index.ts`], [`${name}/*`]: [`${folder}/src/*`] }, // not its dist
  allowImportingTsExtensions: true, experimentalDecorators: true,
  lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
});
const checker = program.getTypeChecker();
const wanted = new Set(files);
const around = new Set([
  ts.SyntaxKind.ParenthesizedExpression, ts.SyntaxKind.AsExpression, ts.SyntaxKind.SatisfiesExpression,
  ts.SyntaxKind.NonNullExpression, ts.SyntaxKind.TypeAssertionExpression,
]);

const fileOf = (node) => path.relative(folder, node.getSourceFile().fileName).split(path.sep).join("/");
const isFunction = (node) => ts.isArrowFunction(node) || ts.isFunctionExpression(node);

// Return the place of a function's or class's name, undefined if it has none.
function nameOf(node) {
  if (ts.isConstructorDeclaration(node)) {
    const word = node.getChildren().find((each) => each.kind === ts.SyntaxKind.ConstructorKeyword);
    return word && word.getStart();
  }
  if (!isFunction(node) && !ts.isClassExpression(node)) {
    if (node.name) return node.name.getStart();
    const word = (node.modifiers || []).find((each) => each.kind === ts.SyntaxKind.DefaultKeyword);
    return word && word.getStart();
  }
  let value = node;
  while (around.has(value.parent.kind)) value = value.parent;
  const parent = value.parent;
  if ((ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent)) &&
    parent.initializer === value) return parent.name.getStart();
  if (ts.isBinaryExpression(parent) && parent.right === value && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken)
    return (ts.isPropertyAccessExpression(parent.left) ? parent.left.name : parent.left).getStart();
  if (ts.isExportAssignment(parent)) {
    if (node.name) return node.name.getStart();
    const word = parent.getChildren().find((each) => each.kind === ts.SyntaxKind.DefaultKeyword);
    return word && word.getStart();
  }
  return undefined;
}

// Return the place of the name given to a call's result for a function: `const Button = memo(() => {…})`.
function madeOf(node) {
  let value = node;
  if (!isFunction(node) || !ts.isBlock(node.body)) return undefined;
  while (around.has(value.parent.kind) || (ts.isCallExpression(value.parent) && value.parent.expression !== value))
    value = value.parent;
  const isOutermost = ts.isVariableDeclaration(value.parent) && ts.isSourceFile(value.parent.parent.parent.parent);
  return value !== node && isOutermost ? value.parent.name.getStart() : undefined;
}

// Return the functions around a call, innermost first, as the places of their names.
function callers(node) {
  const found = [];
  for (let each = node.parent; each; each = each.parent) {
    if (ts.isFunctionLike(each) || ts.isClassLike(each)) {
      const place = nameOf(each) ?? madeOf(each);
      if (place !== undefined) found.push(place);
    }
  }
  return found;
}

function shapeOf(node) {
  if (ts.isJsxOpeningLikeElement(node)) return "<C/>";
  if (ts.isNewExpression(node)) return "new C()";
  const called = ts.isTaggedTemplateExpression(node) ? node.tag : node.expression;
  if (called.kind === ts.SyntaxKind.SuperKeyword) return "super()";
  if (!ts.isPropertyAccessExpression(called)) return "f()";
  const on = called.expression;
  if (on.kind === ts.SyntaxKind.ThisKeyword) return "this.m()";
  if (on.kind === ts.SyntaxKind.SuperKeyword) return "super.m()";
  if (ts.isIdentifier(on)) return "obj.m()";
  if (ts.isCallExpression(on)) return "f().m()";
  return ts.isPropertyAccessExpression(on) ? "obj.attr.m()" : "….m()";
}

// Return the function that a called constant holds; its declared type would give only a signature.
function givenTo(node) {
  if (!ts.isCallExpression(node) || !ts.isIdentifier(node.expression)) return undefined;
  let symbol = checker.getSymbolAtLocation(node.expression);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  const declared = symbol && symbol.valueDeclaration;
  const isConstant = declared && ts.isVariableDeclaration(declared) && declared.initializer &&
    ts.getCombinedNodeFlags(declared) & ts.NodeFlags.Const;
  let value = isConstant ? declared.initializer : undefined;
  while (value && around.has(value.kind)) value = value.expression;
  return value && isFunction(value) ? value : undefined;
}

const kinds = new Set([
  ts.SyntaxKind.FunctionDeclaration, ts.SyntaxKind.MethodDeclaration, ts.SyntaxKind.MethodSignature,
  ts.SyntaxKind.Constructor, ts.SyntaxKind.ArrowFunction, ts.SyntaxKind.FunctionExpression,
  ts.SyntaxKind.ClassDeclaration, ts.SyntaxKind.ClassExpression,
]);

function visit(node) {
  if (ts.isCallExpression(node) || ts.isNewExpression(node) || ts.isJsxOpeningLikeElement(node) ||
    ts.isTaggedTemplateExpression(node)) {
    const signature = checker.getResolvedSignature(node);
    let target = signature && signature.declaration;
    target = givenTo(node) || target;
    if (!target && ts.isNewExpression(node)) {
      const symbol = checker.getTypeAtLocation(node).symbol;
      target = symbol && symbol.valueDeclaration;
    }
    if (target && kinds.has(target.kind) && wanted.has(fileOf(target))) {
      const place = nameOf(target);
      if (place !== undefined) {
        const file = fileOf(node);
        const line = node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).line + 1;
        console.log(JSON.stringify([file, callers(node), fileOf(target), place, line, shapeOf(node)]));
      }
    }
  }
  ts.forEachChild(node, visit);
}
for (const source of program.getSourceFiles()) if (wanted.has(fileOf(source))) visit(source);
