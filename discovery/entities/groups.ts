import type { KeyKind } from '../sighting.ts'
import type { Link } from './link.ts'
import type { IdentityPin } from './pin.ts'
import { isExclusive, type Trace } from './trace.ts'

/** Traces that are one thing so far, with what keeps others out. */
interface TraceGroup {
  traces: Trace[]
  /** Values of keys of which a thing has one, and the sides of splits. */
  exclusive: Map<string, Set<string>>
}

/** Disjoint groups of traces that are joined step by step and never contradict themselves. */
export class TraceGroups {
  readonly #groups = new Map<string, TraceGroup>()
  readonly #clashes: readonly Link[]

  constructor(traces: readonly Trace[], links: readonly Link[], pins: readonly IdentityPin[]) {
    this.#clashes = links.filter(({ kind }) => kind === 'clash')
    for (const trace of traces)
      this.#groups.set(trace.id, { traces: [trace], exclusive: exclusiveOf(trace, pins) })
  }

  isJoined(a: Trace, b: Trace): boolean {
    return this.#groupOf(a) === this.#groupOf(b)
  }

  /** True when something says that the two cannot be one thing. */
  contradicts(a: Trace, b: Trace): boolean {
    const [one, other] = [this.#groupOf(a), this.#groupOf(b)]
    return one !== other && (hasTwoValues(one, other) || this.#isClash(one, other))
  }

  /** Joins the groups of two traces; the caller has asked whether they contradict. */
  join(a: Trace, b: Trace): void {
    const [one, other] = [this.#groupOf(a), this.#groupOf(b)]
    if (one === other) return
    const [large, small] = one.traces.length >= other.traces.length ? [one, other] : [other, one]
    large.traces.push(...small.traces)
    for (const [kind, values] of small.exclusive)
      large.exclusive.set(kind, new Set([...(large.exclusive.get(kind) ?? []), ...values]))
    for (const trace of small.traces) this.#groups.set(trace.id, large)
  }

  list(): Trace[][] {
    return [...new Set(this.#groups.values())].map(({ traces }) => traces)
  }

  /** Members of the group of a trace. */
  membersOf(trace: Trace): readonly Trace[] {
    return this.#groupOf(trace).traces
  }

  #groupOf(trace: Trace): TraceGroup {
    return this.#groups.get(trace.id) as TraceGroup
  }

  #isClash(one: TraceGroup, other: TraceGroup): boolean {
    return this.#clashes.some(({ a, b }) => {
      const [first, second] = [this.#groups.get(a), this.#groups.get(b)]
      return (first === one && second === other) || (first === other && second === one)
    })
  }
}

const exclusiveOf = (trace: Trace, pins: readonly IdentityPin[]): Map<string, Set<string>> => {
  const values = new Map<string, Set<string>>()
  for (const { kind, value } of trace.keys)
    if (isExclusive(kind)) values.set(kind, new Set([value]))
  for (const pin of pins) {
    const side = pin.kind === 'apart' && sideOf(pin, trace)
    if (side) values.set(`pin ${pin.id}`, new Set([side]))
  }
  return values
}

const sideOf = (
  pin: Extract<IdentityPin, { kind: 'apart' }>,
  { id }: Trace,
): string | undefined => {
  if (pin.traces.includes(id)) return 'traces'
  return pin.others.includes(id) ? 'others' : undefined
}

const hasTwoValues = (one: TraceGroup, other: TraceGroup): boolean =>
  [...one.exclusive].some(([kind, values]) => {
    const others = other.exclusive.get(kind as KeyKind)
    return others !== undefined && [...values].every(value => !others.has(value))
  })
