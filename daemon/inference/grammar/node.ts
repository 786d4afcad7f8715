import type { IntegerBounds } from './integer-range.ts'

/** Values that a JSON Schema allows, as far as a grammar can enforce them. */
export type Node = Leaf | { kind: 'union'; of: readonly Node[] } | { kind: 'ref'; to: string }

/** Begins with a character of its own, so that a grammar of leaves is never left-recursive. */
export type Leaf =
  /** Any JSON value. */
  | { kind: 'any' }
  | { kind: 'string'; min: number; max: number | undefined }
  | { kind: 'format'; format: StringFormat }
  | { kind: 'number'; least: 'any' | 'zero' }
  | ({ kind: 'integer' } & IntegerBounds)
  /** JSON texts. */
  | { kind: 'literal'; texts: readonly string[] }
  | { kind: 'object'; properties: readonly Property[] }
  /** An object with any keys. */
  | { kind: 'map'; values: Node; min: number; max: number | undefined }
  | {
      kind: 'array'
      prefix: readonly Node[]
      /** Schema of the items after the prefix; absent when none are allowed. */
      items: Node | undefined
      min: number
      max: number | undefined
    }

export interface Property {
  name: string
  value: Node
  required: boolean
}

export const STRING_FORMATS = ['date', 'time', 'date-time', 'uuid'] as const
export type StringFormat = (typeof STRING_FORMATS)[number]

/** A schema with what its references point to. */
export interface Shape {
  root: Node
  /** Definitions by the text of their reference, `#/$defs/name`. */
  defs: ReadonlyMap<string, Node>
}

/** Child nodes of a leaf. */
export const childrenOf = (leaf: Leaf): readonly Node[] => {
  if (leaf.kind === 'object') return leaf.properties.map(({ value }) => value)
  if (leaf.kind === 'map') return [leaf.values]
  if (leaf.kind !== 'array') return []
  return leaf.items === undefined ? leaf.prefix : [...leaf.prefix, leaf.items]
}
