import { childrenOf, type Leaf, leavesOf, type Node, type Property, type Shape } from './node.ts'

/** Ways that an engine may have to follow side by side; each costs a look at the vocabulary. */
export const MAX_WAYS = 64

/**
 * An engine follows all ways through a grammar that fit what was written so far. Where alternatives
 * begin alike and hold each other again, their number doubles with each bracket, and a text of
 * brackets would stall the engine.
 *
 * @throws Error when there is no bound, or too high a one
 */
export const checkAmbiguity = ({ root, defs }: Shape): void => {
  const ways = new Ways(defs).of(root)
  if (ways > MAX_WAYS) throw new Error(`${ways} alternatives begin alike; ${MAX_WAYS} may`)
}

class Ways {
  readonly #defs: Shape['defs']
  readonly #leaves = new Map<Node, Set<Leaf>>()
  readonly #known = new Map<Leaf, number>()
  readonly #within = new Map<Leaf, Set<Leaf>>()

  constructor(defs: Shape['defs']) {
    this.#defs = defs
  }

  of(node: Node): number {
    const groups = [...Map.groupBy(this.#leavesOf(node), beginningOf).values()]
    return Math.max(1, ...groups.map(group => this.#together(group)))
  }

  #together(group: readonly Leaf[]): number {
    if (group.length === 1) return this.#leaf(group[0] as Leaf)
    const each = group.map(leaf => this.#leaf(leaf))
    if (this.#areToldApart(group)) return Math.max(group.length, ...each)
    const again = group.some(leaf => group.some(other => this.#holds(leaf).has(other)))
    if (again) throw new Error('alternatives that begin alike hold each other again')
    return each.reduce((sum, ways) => sum + ways, 0)
  }

  /** Inside of itself a leaf adds nothing: the ways outside of it have ended in one. */
  #leaf(leaf: Leaf): number {
    const known = this.#known.get(leaf)
    if (known !== undefined) return known
    this.#known.set(leaf, 1)
    const ways = Math.max(ownWays(leaf), ...childrenOf(leaf).map(child => this.of(child)))
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
    const leaves = [...this.#leavesOf(value)]
    const isConstant = leaves.every(leaf => leaf.kind === 'literal')
    return isConstant ? leaves.flatMap(({ texts }) => texts) : undefined
  }

  /** Every leaf that may stand somewhere inside of this one. */
  #holds(leaf: Leaf): Set<Leaf> {
    const known = this.#within.get(leaf)
    if (known) return known
    const held = new Set<Leaf>()
    const todo = [leaf]
    for (let next = todo.pop(); next !== undefined; next = todo.pop())
      for (const child of childrenOf(next))
        for (const inner of this.#leavesOf(child)) {
          if (held.has(inner)) continue
          held.add(inner)
          todo.push(inner)
        }
    this.#within.set(leaf, held)
    return held
  }

  #leavesOf(node: Node): Set<Leaf> {
    const known = this.#leaves.get(node)
    if (known) return known
    const leaves = leavesOf(node, this.#defs)
    this.#leaves.set(node, leaves)
    return leaves
  }
}

const beginningOf = (leaf: Leaf): string => {
  if (leaf.kind === 'map') return 'object'
  if (leaf.kind === 'format') return 'string'
  if (leaf.kind !== 'literal') return leaf.kind
  // constants of one union are written as one leaf, but may meet any string or number
  return leaf.texts.some(text => text.startsWith('"')) ? 'string' : 'number'
}

/** Keys that may come next, for objects with properties that may be left out. */
const ownWays = (leaf: Leaf): number => {
  if (leaf.kind !== 'object') return 1
  let run = 1
  let longest = 1
  for (const { required } of leaf.properties) {
    longest = Math.max(longest, run)
    run = required ? 1 : run + 1
  }
  return Math.max(longest, run)
}
