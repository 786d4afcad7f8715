import { isDeepStrictEqual } from 'node:util'
import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { escapeHidden } from '../../shared/visible.ts'
import { GuidedError } from './describe-failure.ts'
import type { DescribedOperation } from './document.ts'
import { type KnownFrom, type KnownObject, knownObjects, listOf } from './known-ids.ts'
import type { TypedInput } from './operation-call.ts'

/** Fewest characters after the kind of an id that a call which changes something accepts. */
const MIN_PREFIX = 8

/** An id of the coordinator in full: a kind and 26 characters (see `shared/ids.ts`). */
const WHOLE_ID = /^[a-z]+_[0-9a-z]{26}$/

/** Kind of an id, such as `cell_` or `gate.`, which may be left out. */
const KIND = /^[a-z]+[_.]/

const MAX_CANDIDATES = 10

/** A body field that holds an id by its name, where a refusal names no field. */
const ID_FIELD = /_id$|^cell$/

/** True for a refusal after which the typed ids are looked up: nothing has happened by then. */
export const isUnknownId = (
  error: unknown,
  { inPath, fields }: TypedInput,
): error is ShoalError => {
  if (!(error instanceof ShoalError)) return false
  const { code, param } = error
  if (UNKNOWN.includes(code)) return true
  return code === 'invalid_request' && param !== undefined && (param in inPath || param in fields)
}

const UNKNOWN: readonly ErrorCode[] = ['not_found', 'model_not_found', 'invalid_model']

/**
 * Fields that a refusal is about: the one that it names, else those for ids. Other fields hold new
 * values, such as the name of an object that is being created.
 */
export const listRefusedFields = ({ param }: ShoalError, { fields }: TypedInput): string[] => {
  if (param !== undefined) return Object.keys(fields).filter(name => name === param)
  return Object.keys(fields).filter(name => ID_FIELD.test(name))
}

/**
 * Replaces names and beginnings of ids in path arguments and in the given fields by the ids that they
 * stand for. Undefined when nothing is replaced. Throws `invalid_request` with the candidates for one
 * that stands for several.
 */
export const resolveIds = async (
  input: TypedInput,
  fieldNames: readonly string[],
  { method }: DescribedOperation,
  from: Omit<KnownFrom, 'inPath'>,
): Promise<TypedInput | undefined> => {
  // registers hold other people than those with accounts, and what is said of them must be exact
  if (from.group === 'people') return undefined
  const isChange = method !== 'GET'
  const inPath = { ...input.inPath }
  const fields = { ...input.fields }
  const find = (name: string, value: string) =>
    findId(name, value, isChange, { ...from, inPath: others(inPath, name) })
  for (const [name, value] of Object.entries(inPath)) inPath[name] = await find(name, value)
  for (const name of fieldNames) {
    const value = fields[name]
    if (typeof value === 'string') fields[name] = await find(name, value)
    else if (isTexts(value)) fields[name] = await Promise.all(value.map(each => find(name, each)))
  }
  const changed = { ...input, inPath, fields }
  return isDeepStrictEqual(changed, input) ? undefined : changed
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(each => typeof each === 'string')

const others = (inPath: Record<string, string>, name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(inPath).filter(([each]) => each !== name))

/** The id for a typed value; the value itself where no list has it. */
const findId = async (
  field: string,
  value: string,
  isChange: boolean,
  from: KnownFrom,
): Promise<string> => {
  if (value === '' || WHOLE_ID.test(value)) return value
  // a list that the key may not read leaves the value as it was typed
  const known = await knownObjects(field, from).catch(() => undefined)
  const objects = known?.objects ?? []
  const found = isChange ? matchForChange(objects, value) : matchObjects(objects, value)
  if (found.length > 1) throw createAmbiguousError(field, value, found, from.group)
  const [only] = found
  if (isChange && known?.isWhole === false && only !== undefined && only.id !== value)
    throw createUnsureError(field, value, only)
  return only?.id ?? value
}

/**
 * Objects that a value stands for in a call that only reads: the one with this id; else those with
 * this name or whose id begins so, for a cell can choose its name; else those whose name begins so.
 */
export const matchObjects = (known: readonly KnownObject[], value: string): KnownObject[] => {
  const same = known.filter(({ id }) => id === value)
  if (same.length > 0) return same.slice(0, 1)
  const likely = known.filter(({ id, name }) => name === value || begins(id, value))
  if (likely.length > 0) return unique(likely)
  return unique(known.filter(({ name }) => name?.startsWith(value)))
}

/**
 * Objects that a value stands for in a call that changes something: the one with this id; else those
 * with exactly this name, or whose generated id has a kind and begins with it and eight characters
 * more. Nothing else is accepted: once `gpu-1` or `01m` is revoked, a repeated command would revoke
 * `gpu-10` or the cell with the id `cell_01m…`.
 */
export const matchForChange = (known: readonly KnownObject[], value: string): KnownObject[] => {
  const same = known.filter(({ id }) => id === value)
  if (same.length > 0) return same.slice(0, 1)
  return unique(
    known.filter(
      ({ id, name }) => name === value || (WHOLE_ID.test(id) && beginsForChange(id, value)),
    ),
  )
}

/** True for the beginning of an id, with or without its kind. */
const begins = (id: string, value: string): boolean => {
  const own = id.replace(KIND, '')
  const kind = id.slice(0, id.length - own.length)
  const given = value.startsWith(kind) ? value.slice(kind.length) : value
  return given !== '' && own.startsWith(given)
}

const beginsForChange = (id: string, value: string): boolean =>
  value.length >= (KIND.exec(id)?.[0].length ?? 0) + MIN_PREFIX && id.startsWith(value)

const unique = (found: readonly KnownObject[]): KnownObject[] => [
  ...new Map(found.map(each => [each.id, each])).values(),
]

const createAmbiguousError = (
  field: string,
  value: string,
  found: readonly KnownObject[],
  group: string,
): GuidedError => {
  const width = Math.max(...found.map(({ id }) => id.length))
  const lines = found
    .slice(0, MAX_CANDIDATES)
    .map(({ id, name = '' }) =>
      `  ${escapeHidden(id).padEnd(width)}  ${escapeHidden(name)}`.trimEnd(),
    )
  const more = found.length - lines.length
  const rest = more > 0 ? [`  and ${more} more: shoal ${listOf(field, group).join(' ')}`] : []
  return new GuidedError(
    'invalid_request',
    `${field} ${JSON.stringify(value)} stands for ${found.length} objects; write more of the id`,
    [...lines, ...rest].join('\n'),
  )
}

/** The rows that were not read may have a second object of this name. */
const createUnsureError = (
  field: string,
  value: string,
  { id, name = '' }: KnownObject,
): GuidedError =>
  new GuidedError(
    'invalid_request',
    `${field} ${JSON.stringify(value)} may stand for several objects: the list is too long to search; write the whole id`,
    `  ${escapeHidden(id)}  ${escapeHidden(name)}`.trimEnd(),
  )
