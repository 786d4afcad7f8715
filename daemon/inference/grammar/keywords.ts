import { ShoalError } from '../../../shared/errors.ts'

interface Types {
  string: string
  number: number
  array: readonly unknown[]
  object: Readonly<Record<string, unknown>>
  any: unknown
}

/** Say nothing about what is allowed (JSON Schema 2020-12, meta-data and core). */
const ANNOTATIONS = new Set([
  ...['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['$schema', '$id', '$comment', '$anchor'],
])

/** Longest name shown in an error; a hostile one may be long. */
export const MAX_NAME_LENGTH = 64

/** The keywords of one schema. Each that means something must be taken; nothing is passed over. */
export class Keywords {
  readonly #schema: Readonly<Record<string, unknown>>
  readonly #param: string
  readonly #taken = new Set<string>()

  /** @throws ShoalError invalid_request when it is no schema */
  constructor(schema: unknown, param: string) {
    if (!isOf('object', schema)) throw createKeywordError(param, 'is not a JSON Schema')
    this.#schema = schema as Record<string, unknown>
    this.#param = param
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#schema, name)
  }

  /** Path of a keyword in the request. */
  place(name: string): string {
    return `${this.#param}.${name.slice(0, MAX_NAME_LENGTH)}`
  }

  /** @throws ShoalError invalid_request when the value is of another type */
  take<T extends keyof Types>(name: string, type: T): Types[T] | undefined {
    if (!this.has(name)) return undefined
    const value = this.#schema[name]
    if (!isOf(type, value)) throw createKeywordError(this.place(name), `is not of the type ${type}`)
    this.#taken.add(name)
    return value as Types[T]
  }

  /** @throws ShoalError unsupported_parameter when a keyword is left */
  end(): void {
    const left = Object.keys(this.#schema).find(
      name => !this.#taken.has(name) && !ANNOTATIONS.has(name),
    )
    if (left === undefined) return
    const param = this.place(left)
    throw new ShoalError('unsupported_parameter', `${param} is not supported here`, { param })
  }
}

const isOf = (type: keyof Types, value: unknown): boolean => {
  if (type === 'any') return true
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  return typeof value === type
}

const createKeywordError = (param: string, why: string): ShoalError =>
  new ShoalError('invalid_request', `${param} ${why}`, { param })
