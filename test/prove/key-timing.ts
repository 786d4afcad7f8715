import { parseArgs } from 'node:util'
import { KEY_CLASSES, type KeyClass, keyClasses } from '../support/key-classes.ts'
import { type FirstRefusals, measureFirstRefusals } from './support/first-refusals.ts'
import { median, spread } from './support/spread.ts'

/** Checks that are timed as one: a single one is as short as the clock's steps. */
const BATCH = 32
const ROUNDS_BETWEEN = 10

/** The same work on the same key: only what was guessed differs, and that must not show at all. */
const SAME: [KeyClass, KeyClass][] = [
  ['wrong first byte', 'wrong last byte'],
  ['wrong first byte', 'wrong in many bytes'],
  ['wrong last byte', 'wrong in many bytes'],
]
/** Classes that must look alike: whether an id is known, or how its key ended, must hardly show. */
const ALIKE: [KeyClass, KeyClass][] = [
  ['wrong last byte', 'revoked, wrong'],
  ['wrong last byte', 'expired, wrong'],
  ['wrong last byte', 'unknown id'],
]
/** What is refused by its own checksum: if this is not told apart, nothing was measured. */
const CONTROL: [KeyClass, KeyClass] = ['wrong last byte', 'malformed']
/**
 * Difference that cannot be seen in a request that takes half a millisecond and crosses a network.
 */
const BOUND_NS = 150
/** Noise is the most of 60 halvings; the difference of two classes is one more draw, of all values. */
const NOISE_FACTOR = 1.5

/**
 * Times the check of keys in this process, classes interleaved at random. For each pair the
 * difference of the medians is compared with what two random halves of one class differ by.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { rounds: { type: 'string', default: '4000' } } as const
  const rounds = Number(parseArgs({ args: argv, options }).values.rounds)
  const ends: (() => unknown)[] = []
  const { keys, presented } = await keyClasses({ teardown: run => void ends.push(run as never) })
  const samples = await measureChecks(text => keys.authenticate(text), presented, rounds)
  keys.close()
  for (const end of ends.toReversed()) await end()

  console.table(
    KEY_CLASSES.map(name => ({
      class: name,
      'median ns': Math.round(median(samples[name])),
      'halves differ by at most ns': roundToTenth(spreadOf(samples[name])),
    })),
  )
  const verdicts = [
    ...SAME.map(pair => verdict(pair, samples, 0)),
    ...ALIKE.map(pair => verdict(pair, samples, BOUND_NS)),
  ]
  const control = verdict(CONTROL, samples, 0)
  console.table([...verdicts, { ...control, holds: !control.holds }])
  const first = judgeFirstRefusals(await measureFirstRefusals(Math.ceil(rounds / 4)))
  console.table([first])
  return verdicts.every(({ holds }) => holds) && !control.holds && first.holds
}

/**
 * Part of a load by which the first refusals of known and unknown ids may differ: a row that is found
 * is read. An id has one first refusal, so that nobody can take the mean of many.
 */
const FIRST_BOUND = 0.4

/** The first refusal of an id reads the store, which takes as long whether the id is known or not. */
const judgeFirstRefusals = (samples: FirstRefusals) => {
  const known = median(samples.known)
  const unknown = median(samples.unknown)
  return {
    'first refusal, known id ns': Math.round(known),
    'unknown id ns': Math.round(unknown),
    'may differ by': FIRST_BOUND,
    holds: Math.abs(known - unknown) <= FIRST_BOUND * unknown,
  }
}

const spreads = new Map<readonly number[], number>()
const spreadOf = (values: readonly number[]): number => {
  const known = spreads.get(values) ?? spread(values)
  spreads.set(values, known)
  return known
}

type Samples = Record<KeyClass, number[]>

const measureChecks = async (
  check: (text: string) => unknown,
  presented: Record<KeyClass, string[]>,
  rounds: number,
): Promise<Samples> => {
  const samples = Object.fromEntries(KEY_CLASSES.map(name => [name, [] as number[]])) as Samples
  const warming = Math.ceil(rounds / 10)
  for (let round = -warming; round < rounds; round++) {
    for (const name of shuffle(KEY_CLASSES)) {
      const took = timeChecks(check, presented[name])
      if (round >= 0) samples[name].push(took)
    }
    // what runs beside it, such as the collection of garbage, falls on no class alone
    if (round % ROUNDS_BETWEEN === 0) await new Promise(resolve => setImmediate(resolve))
  }
  return samples
}

/** Nanoseconds for one check. */
const timeChecks = (check: (text: string) => unknown, texts: readonly string[]): number => {
  const before = process.hrtime.bigint()
  for (let n = 0; n < BATCH; n++) check(texts[n % texts.length] as string)
  return Number(process.hrtime.bigint() - before) / BATCH
}

const verdict = ([a, b]: [KeyClass, KeyClass], samples: Samples, boundNs: number) => {
  const differ = Math.abs(median(samples[a]) - median(samples[b]))
  const noise = NOISE_FACTOR * Math.max(spreadOf(samples[a]), spreadOf(samples[b]))
  const apart = boundNs > 0 && differ <= boundNs ? 'by less than the bound' : 'yes'
  return {
    pair: `${a} / ${b}`,
    'differ by ns': roundToTenth(differ),
    'noise ns': roundToTenth(noise),
    'bound ns': boundNs === 0 ? '' : boundNs,
    'can be told apart': differ <= noise ? 'no' : apart,
    holds: differ <= Math.max(noise, boundNs),
  }
}

const roundToTenth = (value: number): number => Math.round(value * 10) / 10

const shuffle = <T>(values: readonly T[]): T[] => {
  const left = [...values]
  for (let n = left.length - 1; n > 0; n--) {
    const other = Math.floor(Math.random() * (n + 1))
    ;[left[n], left[other]] = [left[other] as T, left[n] as T]
  }
  return left
}
