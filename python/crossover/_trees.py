"""Values inside lists, tuples and dictionaries, one by one."""


def mapped(value, leaf):
    """The value with everything that is no list, tuple or dictionary replaced by what `leaf` makes of it. Named tuples stay what they are; other
    classes that derive from these are the user's, and left to `leaf`.

    >>> mapped({"a": [1, (2, 3)]}, lambda x: 10 * x)
    {'a': [10, (20, 30)]}
    """
    if type(value) in (list, tuple):
        return type(value)([mapped(item, leaf) for item in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        items = [mapped(item, leaf) for item in value]
        # Some have more in them than their fields, and are not made from these alone.
        return value if all(new is old for new, old in zip(items, value)) else type(value)(*items)
    if type(value) is dict:
        return {key: mapped(item, leaf) for key, item in value.items()}
    return leaf(value)
