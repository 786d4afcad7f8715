import { integerBounds, leastNumber } from './bounds.ts'
import { createSchemaError, createUnsupportedError } from './faults.ts'
import { Keywords, MAX_NAME_LENGTH } from './keywords.ts'
import { type Node, type Property, type Shape, STRING_FORMATS, type StringFormat } from './node.ts'
import { inferTypes, isOfType, type JsonType, typesOf } from './types.ts'

/** An engine copies repeated rules; it refuses 2000 (MAX_REPETITION_THRESHOLD in llama-grammar.cpp). */
const MAX_COUNT = 1024
const MAX_DEPTH = 32
/** All schemas of one request together. */
export interface Budget {
  nodes: number
  /** Repetitions that stand in the schemas. */
  repeats: number
  /** Characters of names and constants. */
  characters: number
}
export const newBudget = (): Budget => ({ nodes: 2000, repeats: 4096, characters: 100_000 })

/**
 * Reads a JSON Schema.
 *
 * @param param where it stands in the request
 * @throws ShoalError unsupported_parameter with the place of what a grammar cannot hold, or
 *   invalid_request for what is no schema
 */
export const readSchema = (schema: unknown, param: string, budget = newBudget()): Shape =>
  new Reader(budget).read(schema, param)

class Reader {
  readonly #budget: Budget
  readonly #defs = new Map<string, Node>()
  readonly #refs = new Map<string, string>()

  constructor(budget: Budget) {
    this.#budget = budget
  }

  read(schema: unknown, param: string): Shape {
    const at = new Keywords(schema, param)
    for (const holder of ['$defs', 'definitions'] as const)
      for (const [name, definition] of Object.entries(at.take(holder, 'object') ?? {})) {
        this.#spend('characters', name.length, param)
        const node = this.#node(
          definition,
          `${param}.${holder}.${name.slice(0, MAX_NAME_LENGTH)}`,
          1,
        )
        this.#defs.set(`#/${holder}/${name}`, node)
      }
    const root = this.#keywords(at, 0)
    this.#defs.set('#', root)
    for (const [ref, place] of this.#refs)
      if (!this.#defs.has(ref))
        throw createUnsupportedError(
          place,
          `there is no schema at ${ref.slice(0, MAX_NAME_LENGTH)}`,
        )
    return { root, defs: this.#defs }
  }

  #node(schema: unknown, param: string, depth: number): Node {
    this.#spend('nodes', 1, param)
    if (depth > MAX_DEPTH)
      throw createUnsupportedError(param, `is nested deeper than ${MAX_DEPTH} levels`)
    if (schema === true) return { kind: 'any' }
    return this.#keywords(new Keywords(schema, param), depth)
  }

  #keywords(at: Keywords, depth: number): Node {
    const node = this.#reference(at) ?? this.#choice(at, depth) ?? this.#value(at, depth)
    at.end()
    return node
  }

  #reference(at: Keywords): Node | undefined {
    const ref = at.take('$ref', 'string')
    if (ref === undefined) return undefined
    this.#refs.set(ref, at.place('$ref'))
    return { kind: 'ref', to: ref }
  }

  #choice(at: Keywords, depth: number): Node | undefined {
    for (const name of ['anyOf', 'oneOf', 'allOf'] as const) {
      const of = at.take(name, 'array')
      if (of === undefined) continue
      if (of.length === 0) throw createSchemaError(at.place(name), 'is empty')
      if (name === 'allOf' && of.length > 1)
        throw createUnsupportedError(at.place(name), 'has several schemas')
      const nodes = of.map((one, index) => this.#node(one, `${at.place(name)}.${index}`, depth + 1))
      return { kind: 'union', of: nodes }
    }
    return undefined
  }

  #value(at: Keywords, depth: number): Node {
    const types = typesOf(at)
    const literal = this.#literal(at, types)
    if (literal) return literal
    const known = types ?? inferTypes(at)
    if (known === undefined) return { kind: 'any' }
    const nodes = known.map(type => this.#valueOfType(type, at, depth))
    return nodes.length === 1 ? (nodes[0] as Node) : { kind: 'union', of: nodes }
  }

  #literal(at: Keywords, types: readonly JsonType[] | undefined): Node | undefined {
    const constant = at.take('const', 'any')
    const values = constant === undefined ? at.take('enum', 'array') : [constant]
    if (values === undefined) return undefined
    const param = at.place(constant === undefined ? 'enum' : 'const')
    const texts = values
      .filter(value => types?.some(type => isOfType(value, type)) ?? true)
      .map(value => JSON.stringify(value))
    if (texts.length === 0) throw createSchemaError(param, 'has no value of the type')
    this.#spend('nodes', texts.length, param)
    for (const { length } of texts) this.#spend('characters', length, param)
    return { kind: 'literal', texts: [...new Set(texts)] }
  }

  #valueOfType(type: JsonType, at: Keywords, depth: number): Node {
    switch (type) {
      case 'string':
        return this.#string(at)
      case 'number':
        return { kind: 'number', least: leastNumber(at) }
      case 'integer':
        return this.#integer(at)
      case 'boolean':
        return { kind: 'literal', texts: ['true', 'false'] }
      case 'null':
        return { kind: 'literal', texts: ['null'] }
      case 'object':
        return this.#object(at, depth)
      case 'array':
        return this.#array(at, depth)
    }
  }

  #integer(at: Keywords): Node {
    const bounds = integerBounds(at)
    for (const bound of [bounds.min, bounds.max])
      if (bound !== undefined) this.#spend('characters', rangeCost(bound), at.place('type'))
    return { kind: 'integer', ...bounds }
  }

  #string(at: Keywords): Node {
    const format = at.take('format', 'string')
    const [min, max] = this.#range(at, 'minLength', 'maxLength')
    if (format === undefined) return { kind: 'string', min, max }
    if (!isFormat(format))
      throw createUnsupportedError(
        at.place('format'),
        `${format.slice(0, MAX_NAME_LENGTH)} is not served`,
      )
    return { kind: 'format', format }
  }

  #object(at: Keywords, depth: number): Node {
    const properties = Object.entries(at.take('properties', 'object') ?? {})
    const required = new Set(at.take('required', 'array'))
    const additional = at.take('additionalProperties', 'any')
    const names = new Set<unknown>(properties.map(([name]) => name))
    const absent = [...required].find(name => !names.has(name))
    if (absent !== undefined)
      throw createUnsupportedError(
        at.place('required'),
        `${String(absent).slice(0, MAX_NAME_LENGTH)} is not among the properties`,
      )
    // Additional properties next to named ones are optional and are never generated
    const isOpen = additional === undefined ? !at.has('properties') : additional !== false
    if (properties.length === 0 && isOpen) return this.#map(at, additional, depth)
    return { kind: 'object', properties: this.#properties(at, properties, required, depth) }
  }

  #properties(
    at: Keywords,
    properties: readonly [string, unknown][],
    required: ReadonlySet<unknown>,
    depth: number,
  ): Property[] {
    return properties.map(([name, schema]) => {
      const place = `${at.place('properties')}.${name.slice(0, MAX_NAME_LENGTH)}`
      this.#spend('characters', name.length, at.place('properties'))
      const value = this.#node(schema, place, depth + 1)
      return { name, value, required: required.has(name) }
    })
  }

  #map(at: Keywords, values: unknown, depth: number): Node {
    const place = at.place('additionalProperties')
    const node: Node = values === undefined ? { kind: 'any' } : this.#node(values, place, depth + 1)
    const [min, max] = this.#range(at, 'minProperties', 'maxProperties')
    return { kind: 'map', values: node, min, max }
  }

  #array(at: Keywords, depth: number): Node {
    const first = at.take('prefixItems', 'array') ?? []
    const rest = at.take('items', 'any')
    if (at.take('uniqueItems', 'any') === true)
      throw createUnsupportedError(at.place('uniqueItems'), 'is not served')
    const [min, max] = this.#range(at, 'minItems', 'maxItems')
    const prefix = first.map((one, index) =>
      this.#node(one, `${at.place('prefixItems')}.${index}`, depth + 1),
    )
    const items = this.#items(at, rest, depth)
    if (items === undefined && min > prefix.length)
      throw createSchemaError(at.place('minItems'), 'asks for more than prefixItems allow')
    if (max !== undefined && max < prefix.length)
      throw createUnsupportedError(
        at.place('maxItems'),
        'is smaller than the number of prefixItems',
      )
    return { kind: 'array', prefix, items, min, max }
  }

  #items(at: Keywords, rest: unknown, depth: number): Node | undefined {
    if (rest === false) return undefined
    return rest === undefined ? { kind: 'any' } : this.#node(rest, at.place('items'), depth + 1)
  }

  #range(at: Keywords, least: string, most: string): [number, number | undefined] {
    const min = this.#count(at, least) ?? 0
    const max = this.#count(at, most)
    if (max !== undefined && max < min)
      throw createSchemaError(at.place(most), `is smaller than ${least}`)
    return [min, max]
  }

  #count(at: Keywords, name: string): number | undefined {
    const count = at.take(name, 'number')
    if (count === undefined) return undefined
    if (!Number.isInteger(count) || count < 0)
      throw createSchemaError(at.place(name), 'is not a whole number')
    if (count > MAX_COUNT) throw createUnsupportedError(at.place(name), `is over ${MAX_COUNT}`)
    this.#spend('repeats', count, at.place(name))
    return count
  }

  #spend(what: keyof Budget, amount: number, param: string): void {
    this.#budget[what] -= amount
    if (this.#budget[what] < 0)
      throw createUnsupportedError(param, `the schema has too many ${what}`)
  }
}

/** The rules of a range grow with the square of its digits. */
const rangeCost = (bound: bigint): number => Math.ceil(String(bound).length ** 2 / 16)

const isFormat = (format: string): format is StringFormat =>
  (STRING_FORMATS as readonly string[]).includes(format)
