import { Leaves } from './leaves.ts'
import { childrenOf, type Leaf, type Node, type Property, type Shape } from './node.ts'

/** Ways that an engine may have to follow side by side; each costs a look at the vocabulary. */
const MAX_WAYS = 64

/**
 * An engine follows all ways through a grammar that fit what was written so far. Where alternatives
 * begin alike and hold each other again, their number doubles with each bracket, and a text of
 * brackets would stall the engine.
 *
 * @throws Error when there is no bound, or too high a one
 */
export const checkAmbiguity = ({ root, defs }: Shape): void => {
  const ways = new Ways(new Leaves(defs)).count(root)
  if (ways > MAX_WAYS) throw new Error(`${ways} alternatives begin alike; ${MAX_WAYS} may`)
}

class Ways {
  readonly #leaves: Leaves
  readonly #known = new Map<Leaf, number>()

  constructor(leaves: Leaves) {
    this.#leaves = leaves
  }

  count(node: Node): number {
    const groups = [...Map.groupBy(this.#leaves.resolve(node), beginningOf).values()]
    return Math.max(1, ...groups.map(group => this.#countGroup(group)))
  }

  #countGroup(group: readonly Leaf[]): number {
    if (group.length === 1) return this.#countLeaf(group[0] as Leaf)
    if (group.length > MAX_WAYS) throw new Error(`${group.length} alternatives begin alike`)
    const each = group.map(leaf => this.#countLeaf(leaf))
    if (this.#areToldApart(group)) return Math.max(group.length, ...each)
    if (this.#holdEachOther(group))
      throw new Error('alternatives with the same beginning contain each other')
    return each.reduce((sum, ways) => sum + ways, 0)
  }

  /** Counts a leaf. Inside itself it adds nothing: the ways outside of it have ended in one. */
  #countLeaf(leaf: Leaf): number {
    const known = this.#known.get(leaf)
    if (known !== undefined) return known
    this.#known.set(leaf, 1)
    const ways = Math.max(countOwnWays(leaf), ...childrenOf(leaf).map(child => this.count(child)))
    this.#known.set(leaf, ways)
    return ways
  }

  /** Objects whose first properties have the same name and different constants. */
  #areToldApart(group: readonly Leaf[]): boolean {
    const firsts = group.map(leaf => (leaf.kind === 'object' ? leaf.properties[0] : undefined))
    const name = firsts[0]?.name
    const texts = firsts.map(first =>
      first?.required && first.name === name ? this.#constants(first) : undefined,
    )
    if (texts.includes(undefined)) return false
    const all = texts.flatMap(some => some ?? [])
    return new Set(all).size === all.length
  }

  #constants({ value }: Property): readonly string[] | undefined {
    const leaves = this.#leaves.resolve(value)
    const isConstant = leaves.every(leaf => leaf.kind === 'literal')
    return isConstant ? leaves.flatMap(({ texts }) => texts) : undefined
  }

  #holdEachOther(group: readonly Leaf[]): boolean {
    const held = new Set<Leaf>()
    const todo = [...group]
    for (let next = todo.pop(); next !== undefined; next = todo.pop())
      for (const inner of childrenOf(next).flatMap(child => this.#leaves.resolve(child))) {
        if (group.includes(inner)) return true
        if (!held.has(inner)) todo.push(inner)
        held.add(inner)
      }
    return false
  }
}

const beginningOf = (leaf: Leaf): string => {
  if (leaf.kind === 'map') return 'object'
  if (leaf.kind === 'format') return 'string'
  if (leaf.kind === 'integer') return 'number'
  if (leaf.kind !== 'literal') return leaf.kind
  return leaf.texts.some(text => text.startsWith('"')) ? 'string' : 'number'
}

/** Lengths of a bounded integer; keys that may come next, where properties may be left out. */
const countOwnWays = (leaf: Leaf): number => {
  if (leaf.kind === 'integer')
    return 1 + Number(leaf.min !== undefined) + Number(leaf.max !== undefined)
  if (leaf.kind !== 'object') return 1
  let run = 1
  let longest = 1
  for (const { required } of leaf.properties) {
    longest = Math.max(longest, run)
    run = required ? 1 : run + 1
  }
  return Math.max(longest, run)
}
