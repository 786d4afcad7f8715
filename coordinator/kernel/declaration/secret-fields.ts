import type * as z from 'zod'
import { HIDDEN } from '../../../shared/hide-secrets.ts'

/*
 * A field of an input that is declared with `.meta({ secret: true })` reaches the call that is being
 * made and nothing else: wherever an input is stored or compared, its value is replaced first. Only
 * the fields of the input itself may be secrets, not those of an object in it.
 */

const known = new WeakMap<z.ZodObject, readonly string[]>()

/** Names of the fields that hold a secret. */
export const listSecretFields = (input: z.ZodObject): readonly string[] => {
  const names =
    known.get(input) ??
    Object.entries(input.shape).flatMap(([name, field]) =>
      isSecret(field as z.ZodType) ? [name] : [],
    )
  known.set(input, names)
  return names
}

const isSecret = (schema: z.ZodType): boolean => {
  const { innerType } = schema.def as { innerType?: z.ZodType }
  return schema.meta()?.secret === true || (innerType !== undefined && isSecret(innerType))
}

/** The input as it may be stored: with its secrets replaced. */
export const hideSecretFields = <T>({ input: schema }: { input: z.ZodObject }, input: T): T =>
  hideNamedFields(listSecretFields(schema), input)

/** Replaces the values of the named fields, as far as the input has them. */
export const hideNamedFields = <T>(names: readonly string[], input: T): T => {
  const hidden = names.filter(name => Object.hasOwn(Object(input), name))
  if (hidden.length === 0) return input
  return { ...input, ...Object.fromEntries(hidden.map(name => [name, HIDDEN])) }
}

/** Names of the fields whose value is gone, because the input was stored. */
export const listHiddenFields = (
  { input: schema }: { input: z.ZodObject },
  input: unknown,
): string[] =>
  listSecretFields(schema).filter(name => (input as Record<string, unknown>)[name] === HIDDEN)

/** A stored input without the fields whose value is gone. */
export const dropHiddenFields = (input: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== HIDDEN))
