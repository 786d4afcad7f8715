import type { Leaf, Node, Shape } from './node.ts'

/** Total number of constant characters that unions may duplicate. */
const MAX_MERGED = 100_000

/** The leaves that nodes stand for, with unions and references resolved, each node once. */
export class Leaves {
  readonly #defs: Shape['defs']
  readonly #known = new Map<Node, readonly Leaf[] | undefined>()
  #merged = 0

  constructor(defs: Shape['defs']) {
    this.#defs = defs
  }

  /**
   * All constants are one leaf; where any value will do, that is the only one.
   *
   * @throws Error when a reference leads back to itself, or when lists of constants that are
   *   referred to again and again would make a grammar of many times the schema's size
   */
  resolve(node: Node): readonly Leaf[] {
    if (node.kind === 'ref') return this.resolve(this.#followReferences(node.to))
    const known = this.#known.get(node)
    if (known) return known
    if (this.#known.has(node)) throw new Error('a reference leads back to itself without an end')
    this.#known.set(node, undefined)
    const leaves = node.kind === 'union' ? this.#union(node.of) : [node]
    this.#known.set(node, leaves)
    return leaves
  }

  #union(nodes: readonly Node[]): readonly Leaf[] {
    const all = [...new Set(nodes.flatMap(node => this.resolve(node)))]
    const any = all.find(({ kind }) => kind === 'any')
    if (any) return [any]
    const literals = all.filter(leaf => leaf.kind === 'literal')
    if (literals.length < 2) return all
    const texts = [...new Set(literals.flatMap(leaf => leaf.texts))]
    this.#merged += texts.reduce((sum, { length }) => sum + length, 0)
    if (this.#merged > MAX_MERGED)
      throw new Error(`its alternatives repeat more than ${MAX_MERGED} characters of constants`)
    return [...all.filter(leaf => leaf.kind !== 'literal'), { kind: 'literal', texts }]
  }

  /** A definition may be nothing but another reference. */
  #followReferences(to: string): Node {
    const passed = new Set<string>()
    let node: Node = { kind: 'ref', to }
    while (node.kind === 'ref') {
      if (passed.has(node.to)) throw new Error(`${node.to} refers to itself`)
      passed.add(node.to)
      node = this.#defs.get(node.to) as Node
    }
    return node
  }
}
