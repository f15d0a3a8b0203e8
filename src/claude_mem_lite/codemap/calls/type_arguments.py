"""Bind the parameters of generic types and functions to their arguments."""

from collections.abc import Sequence

from claude_mem_lite.codemap.calls.evaluation import Evaluation
from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.values import At, Env, Value, Values


class TypeArguments(Evaluation):
    """What type parameters stand for."""

    def of_name(self, at: At, name: str) -> Values | None:
        """Return what a type parameter is bound to, else its constraint; None for other names."""
        for known, values in at.env:
            if known == name:
                return values
        scopes, here = self.files[at.path].scopes, at.scope
        while here >= 0:
            for known, constraint in scopes[here].type_params:
                if known == name:
                    return self.values(At(at.path, here), constraint)
            here = scopes[here].parent
        return None

    def own_types(self, at: At) -> Env:
        """Return the type parameters of a scope itself, as they stand for their constraints."""
        return tuple([(name, self.values(at, of)) for name, of in self.scope(at).type_params])

    def bound(self, value: Value, arguments: Sequence[Values]) -> Value:
        """Return a value with its type parameters bound to arguments, to their constraints without."""
        given, at = dict(enumerate(arguments)), At(value.path, value.scope)
        own = tuple([
            (name, given.get(place) or self.values(at, of))
            for place, (name, of) in enumerate(self.scope(value).type_params)
        ])  # fmt: skip
        return value._replace(env=(*own, *value.env) if value.kind == "function" else own)

    def inferred(self, function: Value, arguments: Sequence[Values]) -> Value:
        """Return a function with the type arguments that follow from what it is given."""
        scope = self.scope(function)
        names = {name for name, _ in scope.type_params} - {name for name, _ in function.env}
        env: dict[str, Values] = {}
        for (declared, _), given in zip(scope.params, arguments, strict=False) if names else ():
            if not declared or declared[0] != "ref":
                continue
            pairs = [(declared, given)]
            pairs += [
                (inner, each.extra[place])
                for each in given
                if each.kind == "builtin" and (each.path,) == declared[1]
                for place, inner in enumerate(declared[2][: len(each.extra)])
            ]
            for inner, values in pairs:
                if inner and inner[0] == "ref" and len(inner[1]) == 1 and inner[1][0] in names and values:
                    env.setdefault(inner[1][0], values)
        return function._replace(env=(*env.items(), *function.env)) if env else function

    def unified(self, function: Value, at: At, declared: Term) -> Value:
        """Return a function with the type arguments that follow from what its result is declared to be."""
        own, returned = self.scope(function).type_params, self.scope(function).return_type
        if not own or not returned or not declared or returned[0] != "ref" or declared[0] != "ref":
            return function
        names = {(name,): name for name, _ in own}
        env = [
            (names[left[1]], self.values(at, right))
            for left, right in zip(returned[2], declared[2], strict=False)
            if left and left[0] == "ref" and left[1] in names
        ]
        return function._replace(env=(*env, *function.env))

    def aliased(self, alias: Value, arguments: tuple[Values, ...]) -> Values:
        """Return what a type by another name is."""
        _, of, params = alias.extra
        given = dict(enumerate(arguments))
        env = tuple([(name, given.get(place, ())) for place, (name, _) in enumerate(params)])
        return self.values(At(alias.path, alias.scope, env), of)
