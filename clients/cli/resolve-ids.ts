import { isDeepStrictEqual } from 'node:util'
import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { MAX_CANDIDATES } from '../../shared/reference-errors.ts'
import {
  hasId,
  hasIdPrefix,
  hasLongIdPrefix,
  hasName,
  hasNamePrefix,
  isEither,
  matchFirst,
} from '../../shared/references.ts'
import { escapeHidden } from '../../shared/visible.ts'
import { GuidedError } from './describe-failure.ts'
import type { DescribedOperation } from './document.ts'
import { type KnownFrom, type KnownObject, listKnownObjects, listOf } from './known-ids.ts'
import type { TypedInput } from './operation-call.ts'

/** An id of the coordinator in full: a kind and 26 characters (see `shared/ids.ts`). */
const WHOLE_ID = /^[a-z]+_[0-9a-z]{26}$/

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
export const listRefusedFields = (
  { param = '' }: ShoalError,
  { inPath, fields }: TypedInput,
): string[] => {
  if (param in fields) return [param]
  if (param in inPath) return []
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
  const known = await listKnownObjects(field, from).catch(() => undefined)
  const objects = known?.objects ?? []
  const found = isChange ? matchForChange(objects, value) : matchObjects(objects, value)
  if (found.length > 1) throw createSeveralError(field, value, found, from.group)
  const [only] = found
  if (isChange && known?.isWhole === false && only !== undefined && only.id !== value)
    throw createUnsureError(field, value, only)
  return only?.id ?? value
}

/**
 * Objects that a value stands for in a call that only reads: the one with this id; else those with
 * this name or whose id begins so, for a cell can choose its name; else those whose name begins so.
 */
export const matchObjects = (known: readonly KnownObject[], value: string): KnownObject[] =>
  matchFirst(known, value, [hasId, isEither(hasName, hasIdPrefix), hasNamePrefix])

/**
 * Objects that a value stands for in a call that changes something: the one with this id; else those
 * with exactly this name, or whose generated id has a kind and begins with it and eight characters
 * more. Nothing else is accepted: once `gpu-1` or `01m` is revoked, a repeated command would revoke
 * `gpu-10` or the cell with the id `cell_01m…`.
 */
export const matchForChange = (known: readonly KnownObject[], value: string): KnownObject[] =>
  matchFirst(known, value, [hasId, isEither(hasName, hasLongIdPrefix)])

const createSeveralError = (
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
    `${field} ${JSON.stringify(value)} matches ${found.length} objects; use an id`,
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
    `${field} ${JSON.stringify(value)} may match several objects: the list is too long to search; use a whole id`,
    `  ${escapeHidden(id)}  ${escapeHidden(name)}`.trimEnd(),
  )
