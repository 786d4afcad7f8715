import * as z from 'zod'
import type { Role } from '../../kernel/declaration/key.ts'

/** Effect of an erasure on a record whose field names the person. */
type Erasure = 'delete' | 'clear'

/** Personal data in the records of a register (GDPR, article 4). */
interface PersonalData {
  /** Fields with personal data beside the id of the person. */
  fields: readonly string[]
  /**
   * Fields that hold the id of a person. An erasure deletes the record, or clears the field, which
   * must be optional then.
   */
  persons: Readonly<Record<string, Erasure>>
}

/** Declaration of the records of one kind that an operator keeps. */
export interface Register<S extends z.ZodObject = z.ZodObject> {
  /** Name in paths and on the command line, plural: `use-cases`. */
  id: string
  /** One sentence about the records. */
  description: string
  /** One record; its `id` is the key within the register of one tenant. */
  record: S
  /** Roles of which any one may read and write the records; every operator role when absent. */
  roles?: readonly Role[]
  personal?: PersonalData
}

/** A stored record of a register. */
export type RecordOf<R extends Register> = z.output<R['record']>

/** Checks one declaration. Throws where its parts do not fit each other. */
export const defineRegister = <S extends z.ZodObject>(register: Register<S>): Register<S> => {
  const { id, record, personal } = register
  for (const name of [...(personal?.fields ?? []), ...Object.keys(personal?.persons ?? {})])
    if (!(name in record.shape)) throw new TypeError(`${id}: ${name} is not in the record`)
  return register
}

/** Key of a record, and a reference to one. It must not be an address or a name of a person. */
export const RecordId = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, {
  error: 'must be 1 to 64 letters, digits, dots, dashes and underscores',
})

export const Name = z.string().min(1).max(200)
export const Note = z.string().max(2000)
/** Calendar day, UTC: `2026-11-20`. */
export const Day = z.iso.date()
/** Amount of money in euros, in whole cents. */
export const Euros = z.number().min(0).max(1e9).multipleOf(0.01)
