import { isDeepStrictEqual } from 'node:util'
import type { Operation } from '../coordinator/kernel/declaration/operation.ts'
import type { ExampleAnswer } from './worked-example.ts'

/** Response of one operation, as the API document shows it. */
interface ResponseExample {
  status: number
  /** Media type without parameters. */
  type: string
  /** Value of a JSON body, or the text of another one. */
  value: unknown
}

type ResponseExamples = Readonly<Record<string, ResponseExample>>

/** The file of the examples: one line for each operation, as the coordinator reads it. */
export const formatResponseExamples = (examples: ResponseExamples): string =>
  Object.entries(examples)
    .map(([id, example]) => `${JSON.stringify({ id, ...example })}\n`)
    .join('')

/** Answer of one call: its status, media type and text. */
export interface RouteAnswer {
  status: number
  type: string
  text: string
}

const MAX_CHARS = 3000
const MAX_TEXT_CHARS = 400

/** Secrets that a call returned once, and addresses of test servers. */
const REPLACED: readonly [RegExp, string][] = [
  [/svc-dev-[A-Za-z0-9]{8}_[A-Za-z0-9]+/g, `svc-dev-Zx4f7Qm2_${'0'.repeat(40)}`],
  [/\bshl_join_[A-Za-z0-9]{8}_[A-Za-z0-9]+/g, `shl_join_Zx4f7Qm2_${'0'.repeat(40)}`],
  [/\bwhsec_[A-Za-z0-9+/=_-]+/g, 'whsec_c2hvYWwgZXhhbXBsZSBzZWNyZXQ='],
  [/\b127\.0\.0\.1:\d{4,5}\b/g, '127.0.0.1:7070'],
]

/** Examples of the responses of operations: the first successful answer of each. */
export const createResponseExamples = (
  answers: ReadonlyMap<string, RouteAnswer>,
): ResponseExamples => {
  const renumber = createRenumbering()
  return Object.fromEntries(
    [...answers]
      .filter(([, { status }]) => status < 300)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([id, answer]) => [id, toExample(answer, renumber)]),
  )
}

/** Declaration of an operation or a skill. */
type Declared = Pick<Operation, 'id' | 'output'> & { text?: { body: string; type: string } }

/**
 * The fresh examples, without those whose stored example still has the declared form: an answer has
 * keys, hashes and times of its own, and each run would change every line. Deleting the file renews
 * all of them.
 */
export const keepCurrentExamples = (
  fresh: ResponseExamples,
  stored: ReadonlyMap<string, ResponseExample>,
  declared: readonly Declared[],
): ResponseExamples => {
  const outputs = new Map(declared.map(each => [each.id, each]))
  return Object.fromEntries(
    Object.entries(fresh).map(([id, example]) => {
      const old = stored.get(id)
      const output = outputs.get(id)
      // a list that is exported states its fields elsewhere, so that not even the fresh one fits
      const isCurrent =
        old !== undefined && isAlike(old, example) && (fits(old, output) || !fits(example, output))
      return [id, isCurrent ? { status: old.status, type: old.type, value: old.value } : example]
    }),
  )
}

const isAlike = (one: ResponseExample, other: ResponseExample): boolean =>
  one.status === other.status &&
  one.type === other.type &&
  isDeepStrictEqual(listFields(one.value), listFields(other.value))

const listFields = (value: unknown): string[] =>
  isObject(value) ? Object.keys(value).toSorted() : [typeof value]

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Checks that a value has the declared form and no further fields; texts and pending answers pass. */
const fits = ({ status, value }: ResponseExample, declared: Declared | undefined): boolean => {
  if (declared === undefined || status === 202 || !isObject(value)) return true
  const { output, text } = declared
  // REST leaves out the two fields of an answer that may be text
  const left = text === undefined ? {} : { [text.body]: null, [text.type]: null }
  const parsed = output.safeParse({ ...left, ...value })
  return parsed.success && isDeepStrictEqual(parsed.data, { ...left, ...value })
}

/** Numbers the ids that are drawn at random, so that they are the same in each run. */
const createRenumbering = (): ((text: string) => string) => {
  const known = new Map<string, string>()
  return text =>
    text.replaceAll(/\b([a-z]+)_0[0-9a-hjkmnp-tv-z]{25}\b/g, (id, kind: string) => {
      const number = String(known.size + 1).padStart(16, '0')
      const own = known.get(id) ?? `${kind}_01m7wd0000${number}`
      known.set(id, own)
      return own
    })
}

const toExample = (
  { status, type, text }: RouteAnswer,
  renumber: (text: string) => string,
): ResponseExample => {
  const media = type.split(';', 1)[0] ?? ''
  const plain = REPLACED.reduce((all, [pattern, to]) => all.replaceAll(pattern, to), renumber(text))
  const value = /^application\/json$/.test(media) ? shorten(JSON.parse(plain)) : cut(plain)
  return { status, type: media, value }
}

const cut = (text: string): string =>
  text.length <= MAX_TEXT_CHARS ? text : `${text.slice(0, MAX_TEXT_CHARS).toWellFormed()}…`

/** A value whose lists have so few members that the whole is short; it still has every field. */
const shorten = (value: unknown): unknown => {
  const lengths = [3, 2, 1].map(most => shortenLists(value, most))
  return lengths.find(each => JSON.stringify(each).length <= MAX_CHARS) ?? lengths.at(-1)
}

const shortenLists = (value: unknown, most: number): unknown => {
  if (Array.isArray(value)) return value.slice(0, most).map(each => shortenLists(each, most))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, shortenLists(each, most)]),
  )
}

/** The answer to an example of a skill in the form of a route. */
export const toRouteAnswer = ({ status, body }: ExampleAnswer): RouteAnswer => ({
  status,
  type: 'application/json',
  text: JSON.stringify(body),
})
