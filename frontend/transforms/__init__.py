"""The transformations: they know no operation by name, only the rules that primitives carry."""
