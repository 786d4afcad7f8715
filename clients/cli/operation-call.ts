import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import type { ApiCall } from './api.ts'
import type { DescribedOperation } from './document.ts'
import { isTextList, parsePairs, readTypedValues } from './flags.ts'
import { createReadError } from './upload-file.ts'

/** True for an operation whose input is the body of its request. */
export const hasBody = ({ method, takesUpload }: DescribedOperation): boolean =>
  (method === 'POST' || method === 'PUT') && !takesUpload

/** Typed values of an operation, by name: those of its path and those of its fields. */
export interface TypedInput {
  inPath: Record<string, string>
  fields: Record<string, unknown>
  upload: string | undefined
  /** Key of the call, made up where none was typed. */
  callKey: string
}

/** Reads arguments and flags, and the file that holds a field. Standard input is read only once. */
export const readInput = (operation: DescribedOperation, command: Command): TypedInput => {
  const { json = {}, idempotencyKey, ...values } = command.optsWithGlobals<CallOptions>()
  const typed = readTypedValues(
    operation.fields,
    values,
    name => command.getOptionValueSourceWithGlobals(name) === 'cli',
  )
  const { args } = command
  return {
    inPath: Object.fromEntries(operation.arguments.map((name, i) => [name, args[i] ?? ''])),
    fields: { ...json, ...typed, ...fileOf(operation, args), ...argumentsOf(operation, args) },
    upload: operation.takesUpload ? (args.at(-1) ?? '') : undefined,
    callKey: idempotencyKey ?? randomUUID(),
  }
}

/** The request of an operation with this input. */
export const callOf = (
  operation: DescribedOperation,
  { inPath, fields: input, upload: file, callKey }: TypedInput,
): ApiCall => {
  const path = fillPath(operation, inPath)
  const upload = file === undefined ? {} : { upload: file }
  if (!hasBody(operation)) return { method: operation.method, path, query: input, ...upload }
  const inQuery = operation.fields.filter(({ place }) => place === 'query').map(({ name }) => name)
  const entries = Object.entries(input)
  const query = Object.fromEntries(entries.filter(([name]) => inQuery.includes(name)))
  const body = Object.fromEntries(entries.filter(([name]) => !inQuery.includes(name)))
  const once = needsKey(operation, input) ? { callKey } : {}
  return { method: operation.method, path, body, ...once, ...(inQuery.length > 0 ? { query } : {}) }
}

/** A dry run changes nothing, so that it may be repeated. */
const needsKey = (
  { needsCallKey, fields }: DescribedOperation,
  { dry_run }: { dry_run?: unknown },
): boolean => {
  const isDry = fields.some(({ name }) => name === 'dry_run') && dry_run !== false
  return needsCallKey && !isDry
}

interface CallOptions {
  json?: Record<string, unknown>
  idempotencyKey?: string
}

/** Values of the fields of the body that are arguments. */
const argumentsOf = (
  { arguments: inPath, inputWords, pairs, fields }: DescribedOperation,
  args: readonly string[],
): object => {
  const given = args.slice(inPath.length)
  const words = Object.fromEntries(
    inputWords.slice(0, given.length).map((name, i) => {
      const isList = fields.some(each => each.name === name && isTextList(each))
      return [name, isList ? given.slice(i) : given[i]]
    }),
  )
  const rest = given.slice(inputWords.length)
  const field = fields.find(({ name }) => name === pairs)
  if (field === undefined || rest.length === 0) return words
  return { ...words, [field.name]: parsePairs(rest, field) }
}

/** The text of the file that the last argument names. */
const fileOf = ({ file }: DescribedOperation, args: readonly string[]): object => {
  if (file === undefined) return {}
  const name = args.at(-1) ?? ''
  try {
    return { [file]: readFileSync(name === '-' ? 0 : name, 'utf8') }
  } catch (cause) {
    throw createReadError(name, cause)
  }
}

/**
 * Fills the arguments into the path. `.` and `..` are rejected, because servers would resolve them.
 */
const fillPath = ({ path }: DescribedOperation, inPath: Record<string, string>): string =>
  Object.entries(inPath).reduce((filling, [name, value]) => {
    if (value === '' || value === '.' || value === '..')
      throw new ShoalError('invalid_request', `${name} must not be ${JSON.stringify(value)}`)
    return filling.replace(`{${name}}`, () => encodeURIComponent(value))
  }, path)
