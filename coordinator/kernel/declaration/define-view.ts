import * as z from 'zod'
import { iso } from '../../../shared/time.ts'
import type { AnyColumn, Column } from '../store/columns.ts'
import { type Columns, type Entity, type Field, fieldOf } from '../store/define-table.ts'

/** Name of a column on the wire: without `_json`. */
type Member<Name> = Name extends `${infer Head}_json` ? Head : Name

type Shown<C extends AnyColumn> =
  // biome-ignore lint/suspicious/noExplicitAny: a column of any types
  C extends Column<any, any, any, infer S> ? S : never

/** Values of the columns as operations return them; never for one that has no such form. */
type Members<C extends Columns> = { [N in keyof C & string as Member<N>]: Shown<C[N]> }

/** A member that differs from its column, or has none. */
interface Own<E, S extends z.ZodType> {
  readonly schema: S
  readonly of: (entity: E) => z.input<S>
}

/** A member that is shown as its column, with a description where it is text. */
type Same = true | string

// biome-ignore lint/suspicious/noExplicitAny: a member of any entity
type Described = Readonly<Record<string, Same | Own<any, z.ZodType>>>

/**
 * One of a list of words to which later versions may add, for answers: a word that such a version
 * has stored is shown as it is.
 */
export const createGrowingChoice = <const Word extends string>(
  words: readonly Word[],
): z.ZodType<Word, Word> =>
  z.string().meta({ examples: [...words] }) as unknown as z.ZodType<Word, Word>

/** Refuses a name that is no column, and a column that is not shown as it is. */
type Known<C extends Columns, M> = {
  [N in keyof M]: M[N] extends Same
    ? N extends keyof Members<C>
      ? [Members<C>[N]] extends [never]
        ? never
        : M[N]
      : never
    : M[N]
}

type Schemas<C extends Columns, M> = {
  -readonly [N in keyof M]: M[N] extends { schema: infer S extends z.ZodType }
    ? S
    : N extends keyof Members<C>
      ? z.ZodType<Members<C>[N], Members<C>[N]>
      : never
}

/** Members of the entity that a view shows as they are. */
type SameFields<M> = { [N in keyof M & string]: M[N] extends Same ? Field<N> : never }[keyof M &
  string]

/** Fields of the entity from which the members that differ are made. */
type OwnNeeds<M> = {
  [N in keyof M]: M[N] extends { of: (entity: infer E) => unknown } ? (entity: E) => void : never
}[keyof M] extends (entity: infer E) => void
  ? E
  : unknown

type Needs<C extends Columns, M> = Pick<Entity<C>, SameFields<M> & keyof Entity<C>> & OwnNeeds<M>

/** Schema of an answer about an entity, and its value for one entity. */
interface View<E, S extends z.core.$ZodLooseShape> {
  schema: z.ZodObject<S>
  of: (entity: E) => z.input<z.ZodObject<S>>
}

export const own = <E, S extends z.ZodType>(
  schema: S,
  of: (entity: E) => z.input<S>,
): Own<E, S> => ({ schema, of })

/**
 * Derives a view from a table. A member that is shown as its column needs `true`, or its
 * description: times are RFC 3339, and what is absent is null. One that differs states its schema
 * and its value with `own`.
 */
export const defineView = <C extends Columns, const M extends Described>(
  { columns }: { readonly columns: C },
  members: M & Known<C, M>,
): View<Needs<C, M>, Schemas<C, M>> => {
  const shown = Object.entries<Described[string]>(members).map(
    ([name, how]) =>
      [name, typeof how === 'object' ? how : createSame(columns, name, how)] as const,
  )
  const view = {
    schema: z.object(Object.fromEntries(shown.map(([name, { schema }]) => [name, schema]))),
    of: (entity: Values) => {
      const members: Record<string, unknown> = {}
      for (const [name, { of }] of shown) members[name] = of(entity)
      return members
    },
  }
  return view as never
}

type Values = Readonly<Record<string, unknown>>

const createSame = (columns: Columns, member: string, how: Same): Own<Values, z.ZodType> => {
  const column = columns[member] ?? columns[`${member}_json`]
  if (column === undefined) throw new TypeError(`no column ${member}`)
  const schema = toSchema(column.shape)
  const field = fieldOf(member)
  const isTime = column.shape.as === 'time'
  return {
    schema: how === true ? schema : schema.describe(how),
    of: entity => {
      const value = entity[field] ?? null
      return isTime && value !== null ? iso(value as number) : value
    },
  }
}

type AnyShape = AnyColumn['shape']

const toSchema = (shape: AnyShape): z.ZodType =>
  shape.isNullable ? toPresent(shape).nullable() : toPresent(shape)

const toPresent = (shape: AnyShape): z.ZodType => {
  switch (shape.as) {
    case 'text':
      return z.string()
    case 'integer':
      return z.int()
    case 'real':
      return z.number()
    case 'flag':
      return z.boolean()
    case 'time':
      return z.iso.datetime()
    case 'words':
      return shape.isGrowing ? createGrowingChoice(shape.words) : z.enum(shape.words)
    case 'json':
      return shape.schema
    case 'hidden':
      throw new TypeError('a hidden column is not shown as it is')
  }
}
