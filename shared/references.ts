/*
 * Rules by which a reference, typed by a person or sent by a program, names an object; its errors
 * are in `reference-errors.ts`. A change accepts only whole names and long beginnings of ids: once
 * `arm-right` is gone, a repeated command for `arm` would move `arm-left`.
 */

export interface Named {
  id: string
  /** Name that people gave to it, if any. */
  name?: string | undefined
}

export type Match = (object: Named, reference: string) => boolean

/** Fewest characters after the kind of an id that a call which changes something accepts. */
const MIN_PREFIX = 8

/** Generated id in full: a kind and 26 characters, or 20 for a device (see `ids.ts`). */
const GENERATED_ID = /^[a-z]+_(?:[0-9a-z]{26}|[0-9a-f]{20})$/

/** Kind of an id, such as `cell_` or `gate.`, which may be left out of a beginning to read. */
const KIND = /^[a-z]+[_.]/

export const hasId: Match = ({ id }, reference) => id === reference

export const hasName: Match = ({ name }, reference) => name === reference

export const hasNameInAnyCase: Match = ({ name }, reference) =>
  name?.toLowerCase() === reference.toLowerCase()

export const hasNamePrefix: Match = ({ name }, reference) => name?.startsWith(reference) === true

export const hasNamePrefixInAnyCase: Match = ({ name }, reference) =>
  name?.toLowerCase().startsWith(reference.toLowerCase()) === true

/** Matches a generated id by its beginning: its kind and at least eight more characters. */
export const hasLongIdPrefix: Match = ({ id }, reference) =>
  GENERATED_ID.test(id) &&
  reference.length >= (KIND.exec(id)?.[0].length ?? 0) + MIN_PREFIX &&
  id.startsWith(reference)

/** Matches the beginning of an id, with or without its kind. */
export const hasIdPrefix: Match = ({ id }, reference) => {
  const own = id.replace(KIND, '')
  const kind = id.slice(0, id.length - own.length)
  const given = reference.startsWith(kind) ? reference.slice(kind.length) : reference
  return given !== '' && own.startsWith(given)
}

export const isEither =
  (...matches: readonly Match[]): Match =>
  (object, reference) =>
    matches.some(isMatch => isMatch(object, reference))

/** Objects that the first rule with a match finds, each id once. */
export const matchFirst = <T extends Named>(
  objects: readonly T[],
  reference: string,
  rules: readonly Match[],
): T[] => {
  for (const isMatch of rules) {
    const found = objects.filter(each => isMatch(each, reference))
    if (found.length > 0) return [...new Map(found.map(each => [each.id, each])).values()]
  }
  return []
}
