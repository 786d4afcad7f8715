import { BASICS } from './basics.ts'
import { list, literal, NOTHING, oneOf, times } from './gbnf.ts'
import { type IntegerBounds, integerRange } from './integer-range.ts'
import { Leaves } from './leaves.ts'
import type { Leaf, Node, Property, Shape } from './node.ts'

/** Writes the rules of a grammar. Names of its own begin with `r` and a number. */
export class Rules {
  readonly #rules = new Map<string, string>()
  readonly #leaves = new Map<Leaf, string>()
  readonly #unions = new Map<readonly Leaf[], string>()
  readonly #ranges = new Map<string, string>()

  /** The name of the rule for a value of this shape. */
  value({ root, defs }: Shape): string {
    return this.#value(root, new Leaves(defs))
  }

  /** The name of a rule for this expression. */
  rule(expression: string): string {
    return this.#add(expression)
  }

  /** The grammar that begins with this expression. */
  text(root: string): string {
    return `root ::= ${root}\n${this.body()}`
  }

  /** The rules without a beginning. */
  body(): string {
    const rules = [...Object.entries(BASICS), ...this.#rules]
    return rules.map(([name, rule]) => `${name} ::= ${rule}`).join('\n')
  }

  #value(node: Node, defs: Leaves): string {
    const leaves = defs.resolve(node)
    if (leaves.length === 1) return this.#leaf(leaves[0] as Leaf, defs)
    const known = this.#unions.get(leaves)
    if (known !== undefined) return known
    const name = this.#reserve()
    this.#unions.set(leaves, name)
    this.#rules.set(name, leaves.map(leaf => this.#leaf(leaf, defs)).join(' | '))
    return name
  }

  #leaf(leaf: Leaf, defs: Leaves): string {
    if (leaf.kind === 'any') return 'any'
    const known = this.#leaves.get(leaf)
    if (known !== undefined) return known
    const name = this.#reserve()
    this.#leaves.set(leaf, name)
    this.#rules.set(name, this.#expression(leaf, defs))
    return name
  }

  #expression(leaf: Exclude<Leaf, { kind: 'any' }>, defs: Leaves): string {
    switch (leaf.kind) {
      case 'string':
        return `"\\"" ${times('char', leaf.min, leaf.max)} "\\""`
      case 'format':
        return leaf.format
      case 'number':
        return leaf.least === 'zero' ? 'least-number' : 'number'
      case 'integer':
        return this.#integer(leaf)
      case 'literal':
        return oneOf(leaf.texts.map(text => ({ text, after: '' })))
      case 'object':
        return `"{" ws ${this.#properties(leaf.properties, defs)} ws "}"`
      case 'map': {
        const member = this.#add(`string ":" ws ${this.#value(leaf.values, defs)}`)
        return `"{" ws ${this.#list(member, leaf.min, leaf.max)} ws "}"`
      }
      case 'array':
        return `"[" ws ${this.#items(leaf, defs)} ws "]"`
    }
  }

  #integer({ min, max }: IntegerBounds): string {
    if (min === undefined && max === undefined) return 'integer'
    return this.#addOnce(`${min} to ${max}`, () =>
      integerRange({ min, max }, count => this.#addOnce(`${count}`, () => `[0-9]{${count}}`)),
    )
  }

  /** The name of a rule that is written once, however often it is referred to. */
  #addOnce(key: string, write: () => string): string {
    const known = this.#ranges.get(key) ?? this.#add(write())
    this.#ranges.set(key, known)
    return known
  }

  /** Properties come in their order; those that are not required may be left out. */
  #properties(properties: readonly Property[], defs: Leaves): string {
    // what may follow when nothing, or something, was written before
    let first = NOTHING
    let more = NOTHING
    for (const { name, value, required } of properties.toReversed()) {
      const member = `${literal(`${JSON.stringify(name)}:`)} ws ${this.#value(value, defs)}`
      const [firstAfter, moreAfter] = [first, more]
      first = required
        ? `${member} ${moreAfter}`
        : this.#add(`${member} ${moreAfter} | ${firstAfter}`)
      const next = `"," ws ${member} ${moreAfter}`
      more = this.#add(required ? next : `${next} | ${moreAfter}`)
    }
    return first
  }

  #items({ prefix, items, min, max }: Extract<Leaf, { kind: 'array' }>, defs: Leaves) {
    const members = prefix.map(node => this.#value(node, defs))
    const least = Math.max(0, min - prefix.length)
    const most = max === undefined ? undefined : max - prefix.length
    const item = items === undefined ? undefined : this.#add(this.#value(items, defs))
    if (members.length === 0) return item === undefined ? NOTHING : this.#list(item, least, most)
    const rest = item === undefined ? NOTHING : times(this.#addNextItem(item), least, most)
    return `${members.join(' "," ws ')} ${rest}`
  }

  #list(item: string, min: number, max: number | undefined): string {
    return list(item, this.#addNextItem(item), min, max)
  }

  #addNextItem(item: string): string {
    return this.#add(`"," ws ${item}`)
  }

  #add(rule: string): string {
    const name = this.#reserve()
    this.#rules.set(name, rule)
    return name
  }

  #reserve(): string {
    const name = `r${this.#rules.size}`
    this.#rules.set(name, '')
    return name
  }
}
