import * as z from 'zod'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'

/** Kind of a column in both engines; see `ddl.ts`. Integers have 64 bits. */
export type SqlType = 'text' | 'integer' | 'real'

/** Form in which operations return the values of a column; `Shown` is their type there. */
type Shape<Shown> = { readonly type?: Shown; readonly isNullable?: true } & (
  | { readonly as: 'text' | 'integer' | 'real' | 'flag' | 'time' | 'hidden' }
  | { readonly as: 'words'; readonly words: readonly string[]; readonly isGrowing?: true }
  | { readonly as: 'json'; readonly schema: z.ZodType }
)

/**
 * One column of a table: its type in the database, the codec between the stored value and the one
 * that code uses, and the form in which operations return it.
 */
export interface Column<Stored, Value, HasDefault extends boolean = false, Shown = Value> {
  readonly sql: SqlType
  readonly isNullable: boolean
  /** True when an INSERT may leave the column out. */
  readonly hasDefault: HasDefault
  readonly default?: string | number
  readonly references?: Reference
  /** Throws ShoalError `internal` for a value that the column cannot hold; it never shows the value. */
  readonly read: (stored: unknown) => Value
  readonly write: (value: Value) => Stored
  /** `hidden` for a secret, and for what has no form that fits every view. */
  readonly shape: Shape<Shown>
}

/** The `id` of another table. */
interface Reference {
  table: string
  onDelete?: 'cascade'
}

// biome-ignore lint/suspicious/noExplicitAny: a column of any types
export type AnyColumn = Column<any, any, boolean, any>

const column = <Stored, Value, Shown = Value>(
  sql: SqlType,
  shape: Shape<Shown>,
  read: (stored: unknown) => Value,
  write: (value: Value) => Stored,
): Column<Stored, Value, false, Shown> => ({
  sql,
  shape,
  isNullable: false,
  hasDefault: false,
  read,
  write,
})

const keep = <Value>(value: Value): Value => value

const HIDDEN: Shape<never> = { as: 'hidden' }

const refuse = (expected: string, found: unknown): never => {
  const kind = found === null ? 'null' : typeof found
  throw new ShoalError('internal', `expected ${expected}, found ${kind}`)
}

const readText = (stored: unknown): string =>
  typeof stored === 'string' ? stored : refuse('text', stored)

const readInteger = (stored: unknown): number =>
  Number.isSafeInteger(stored) ? (stored as number) : refuse('a whole number', stored)

const readReal = (stored: unknown): number =>
  typeof stored === 'number' && Number.isFinite(stored) ? stored : refuse('a number', stored)

export const text = (): Column<string, string> => column('text', { as: 'text' }, readText, keep)

/** Text that is encrypted; it is opened by its owner, never here. */
export const sealed = (): Column<string, string, false, never> =>
  column('text', HIDDEN, readText, keep)

export const integer = (): Column<number, number> =>
  column('integer', { as: 'integer' }, readInteger, keep)

/** Unix time in milliseconds, which operations return as RFC 3339. */
export const time = (): Column<number, number, false, string> =>
  column('integer', { as: 'time' }, readInteger, keep)

export const real = (): Column<number, number> => column('real', { as: 'real' }, readReal, keep)

/** True and false, stored as 1 and 0. */
export const flag = (): Column<number, boolean> =>
  column(
    'integer',
    { as: 'flag' },
    stored => (stored === 1 || stored === 0 ? stored === 1 : refuse('0 or 1', stored)),
    Number,
  )

/** One of a list of words. */
export const oneOf = <const Word extends string>(words: readonly Word[]): Column<Word, Word> => {
  const known = new Set<unknown>(words)
  return column(
    'text',
    { as: 'words', words },
    stored => (known.has(stored) ? (stored as Word) : refuse(`one of ${words.join(', ')}`, stored)),
    keep,
  )
}

/**
 * One of a list of words to which later versions may add. A word that such a version has stored is
 * read as it is, so that this one goes on beside it.
 */
export const growingWords = <const Word extends string>(
  words: readonly Word[],
): Column<Word, Word> =>
  column('text', { as: 'words', words, isGrowing: true }, stored => readText(stored) as Word, keep)

/** JSON text, checked against the schema when it is read. The name of the column ends in `_json`. */
export const json = <S extends z.ZodType>(schema: S): Column<string, z.output<S>> =>
  column(
    'text',
    { as: 'json', schema },
    stored => readJson(schema, readText(stored)),
    JSON.stringify,
  )

/** JSON text whose stored form differs from the one that code uses: the schema has codecs. */
export const codedJson = <S extends z.ZodType>(
  schema: S,
): Column<string, z.output<S>, false, never> => ({
  ...json(schema),
  shape: HIDDEN,
  write: value => JSON.stringify(z.encode(schema, value)),
})

/** Text that is stored as another word than the one that code uses. */
export const coded = <Value>(
  codec: z.ZodType<Value, string>,
): Column<string, Value, false, never> =>
  column(
    'text',
    HIDDEN,
    stored => check(codec, stored),
    value => z.encode(codec, value),
  )

/** JSON text of any shape. */
export const anyJson = (): Column<string, unknown, false, never> =>
  column('text', HIDDEN, stored => parseJson(readText(stored)), JSON.stringify)

/** JSON text of any shape in canonical form, of which hashes are taken. */
export const canonical = (): Column<string, unknown, false, never> => ({
  ...anyJson(),
  write: canonicalJson,
})

const readJson = <S extends z.ZodType>(schema: S, stored: string): z.output<S> =>
  check(schema, parseJson(stored))

const check = <S extends z.ZodType>(schema: S, stored: unknown): z.output<S> => {
  const { success, data, error } = schema.safeParse(stored)
  if (success) return data
  const [issue] = error.issues
  const path = issue?.path.length ? `${issue.path.join('.')}: ` : ''
  throw new ShoalError('internal', `${path}${issue?.message ?? 'invalid'}`, { cause: error })
}

const parseJson = (stored: string): unknown => {
  try {
    return JSON.parse(stored)
  } catch {
    // the message of JSON.parse quotes the text
    return refuse('JSON', stored)
  }
}

/** The `id` of a row of another table. */
export const reference = (
  table: string,
  options: Omit<Reference, 'table'> = {},
): Column<string, string> => ({
  ...text(),
  references: { table, ...options },
})

/** A column that may be null in the database, which is undefined in code. */
export const optional = <Stored, Value, HasDefault extends boolean, Shown>(
  inner: Column<Stored, Value, HasDefault, Shown>,
): Column<
  Stored | null,
  Value | undefined,
  HasDefault,
  [Shown] extends [never] ? never : Shown | null
> => ({
  ...inner,
  shape: { ...inner.shape, isNullable: true } as never,
  isNullable: true,
  read: stored => (stored === null ? undefined : inner.read(stored)),
  write: value => (value === undefined ? null : inner.write(value)),
})

/** A column that the database lets be null, and that no row leaves null. */
export const filled = <Stored, Value, Shown>(
  inner: Column<Stored, Value, false, Shown>,
): Column<Stored | null, Value, false, Shown> => ({ ...inner, isNullable: true })

/** A column that the database fills where an INSERT leaves it out, with the value as it is stored. */
export const withDefault = <Stored, Value, Shown>(
  inner: Column<Stored, Value, false, Shown>,
  value: string | number,
): Column<Stored, Value, true, Shown> => ({ ...inner, hasDefault: true, default: value })
