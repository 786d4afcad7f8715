/** One operation of a history, by one clock. */
export interface TimedCall<Input, Output> {
  input: Input
  /** Undefined when the client has got no answer: it may have happened or not. */
  output: Output | undefined
  calledAt: number
  /** Infinity without an answer. */
  returnedAt: number
}

export interface SequentialModel<State, Input, Output> {
  initial: State
  /** State after the call; undefined when it could not have had this output. */
  step(state: State, input: Input, output: Output | undefined): State | undefined
}

interface Entry {
  index: number
  isCall: boolean
  at: number
  before: Entry | undefined
  after: Entry | undefined
  answer: Entry | undefined
}

/**
 * True when the calls could have happened one after another, each between its call and its return
 * (Wing and Gong 1993, with the cache of Lowe 2017). States are compared as JSON.
 */
export const isLinearizable = <State, Input, Output>(
  model: SequentialModel<State, Input, Output>,
  calls: readonly TimedCall<Input, Output>[],
): boolean => {
  const head = linkEntries(calls)
  const seen = new Set<string>()
  const done: { entry: Entry; state: State }[] = []
  let taken = 0n
  let { initial: state } = model
  for (let entry = head.after; head.after !== undefined; ) {
    if (entry?.isCall) {
      const next = advance(model, state, calls[entry.index] as TimedCall<Input, Output>)
      const bits = taken | (1n << BigInt(entry.index))
      const visit = `${bits.toString(36)} ${JSON.stringify(next)}`
      if (next === undefined || seen.has(visit)) {
        entry = entry.after
        continue
      }
      seen.add(visit)
      done.push({ entry, state })
      state = next
      taken = bits
      unlink(entry)
      entry = head.after
      continue
    }
    // the end of a call that has no place before: the last choice was wrong
    const last = done.pop()
    if (last === undefined) return false
    taken &= ~(1n << BigInt(last.entry.index))
    state = last.state
    relink(last.entry)
    entry = last.entry.after
  }
  return true
}

/** A call without an answer that could not have happened has not. */
const advance = <State, Input, Output>(
  { step }: SequentialModel<State, Input, Output>,
  state: State,
  { input, output }: TimedCall<Input, Output>,
): State | undefined => step(state, input, output) ?? (output === undefined ? state : undefined)

const linkEntries = (calls: readonly TimedCall<unknown, unknown>[]): Entry => {
  const entries = calls.flatMap(({ calledAt, returnedAt }, index) => {
    const answer = createEntry(index, false, returnedAt)
    return [{ ...createEntry(index, true, calledAt), answer }, answer]
  })
  // calls before returns at one moment: they overlap
  entries.sort((a, b) => a.at - b.at || Number(b.isCall) - Number(a.isCall))
  const head = createEntry(-1, true, Number.NEGATIVE_INFINITY)
  let last = head
  for (const entry of entries) {
    entry.before = last
    last.after = entry
    last = entry
  }
  return head
}

const createEntry = (index: number, isCall: boolean, at: number): Entry => ({
  index,
  isCall,
  at,
  before: undefined,
  after: undefined,
  answer: undefined,
})

const unlink = (call: Entry): void => {
  for (const entry of [call, call.answer as Entry]) {
    if (entry.before) entry.before.after = entry.after
    if (entry.after) entry.after.before = entry.before
  }
}

const relink = (call: Entry): void => {
  for (const entry of [call.answer as Entry, call]) {
    if (entry.before) entry.before.after = entry
    if (entry.after) entry.after.before = entry
  }
}
