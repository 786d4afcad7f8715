import { loadRun } from '../../discovery/load.ts'
import type { LookupContext, LookupRun } from '../../discovery/lookup-run.ts'
import { isScan } from '../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../discovery/modules.ts'
import { UpstreamError } from '../../discovery/upstreams/client.ts'
import {
  applyReading,
  empty,
  fixtureFor,
  type LookupCase,
  nullify,
  readFixture,
} from './lookup-cases.ts'
import { FIXTURE_NOW } from './upstreams.ts'

const STRANGE = [null, -1, 1e21, 0, '', 'x'.repeat(10_000), [], {}, true]

type Path = readonly (string | number)[]

const leavesOf = (value: unknown, path: Path = []): Path[] =>
  typeof value === 'object' && value !== null
    ? [path, ...Object.entries(value).flatMap(([name, each]) => leavesOf(each, [...path, name]))]
    : [path]

/** A copy with another value at the path. */
const replaceAt = (value: unknown, [first, ...rest]: Path, other: unknown): unknown => {
  if (first === undefined) return other
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<
    string | number,
    unknown
  >
  copy[first] = replaceAt(copy[first], rest, other)
  return copy
}

/** Answers of the source of a case, and of those beside it. */
const createAsk =
  (
    { source, files, beside = {} }: LookupCase,
    answer: (file: string) => unknown,
  ): LookupContext['ask'] =>
  async request => {
    const { path } = request
    const { id, name } = request.source
    const others = beside[id]
    if (id !== source && others === undefined)
      throw new UpstreamError(id, 'not_reached', 'it is not part of this test')
    const body =
      others === undefined
        ? answer(fixtureFor(files, path))
        : readFixture(id, fixtureFor(others, path))
    const fetched_at = new Date(FIXTURE_NOW).toISOString()
    const facts = { name, url: '', fetched_at, age_s: 0, cache: 'miss' as const }
    const provenance = { ...facts, licence: null, attribution: null }
    const read = await applyReading(request, body)
    return { status: 200, body: read, headers: {}, source: provenance }
  }

/** Creates the part of a context that the programs of the cases use. */
const createContext = (
  ask: LookupContext['ask'],
  { source, settings = {} }: LookupCase,
): LookupContext =>
  ({
    signal: new AbortController().signal,
    now: () => FIXTURE_NOW,
    ask,
    warn: () => {},
    resolver: {
      resolve: async () => {
        throw new UpstreamError('dns', 'not_reached', 'it is not part of this test')
      },
    },
    searchEntities: async () => [],
    settings: {
      hasKey: () => true,
      hasOwnUrl: () => true,
      option: (id, name) => (id === source ? settings[name] : undefined),
      site: { lat: 48.1, lon: 11.5, pv_tilt_deg: 30, pv_azimuth_deg: 0 },
    },
  }) satisfies Partial<LookupContext> as unknown as LookupContext

export interface Damage {
  /** Leaves of a large fixture that are changed; the others are like them. */
  leaves: number
  /** Strange values that each leaf takes: neighbours take others, and together they take all. */
  valuesPerLeaf: number
}

/** Every kind of value that a leaf may take. */
export const ALL_VALUES = STRANGE.length

const valuesAt = (leaf: number, count: number): unknown[] =>
  Array.from({ length: count }, (_, n) => STRANGE[(leaf * count + n) % STRANGE.length])

/**
 * Runs a lookup on answers of which one value is damaged. Returns a line for each that failed
 * otherwise than with the error of an upstream, or gave what its declaration does not accept.
 */
export const listDamageFaults = async (
  each: LookupCase,
  { leaves, valuesPerLeaf }: Damage,
): Promise<string[]> => {
  const module = DISCOVERY_MODULES.find(({ id }) => id === each.module)
  if (module === undefined || isScan(module)) throw new Error(`${each.module} is not a lookup`)
  const run = (await loadRun<LookupRun<object>>(module)) as LookupRun<object>
  const input = module.input.parse(each.input ?? {})
  const good = new Map(
    Object.values(each.files).map(file => [file, readFixture(each.source, file)]),
  )
  const faults: string[] = []
  const look = async (title: string, answer: (file: string) => unknown): Promise<void> => {
    try {
      module.data.parse(await run(input, createContext(createAsk(each, answer), each)))
    } catch (error) {
      if (!(error instanceof UpstreamError)) faults.push(`${title}: ${error}`)
    }
  }
  await look('an empty answer', file => empty(good.get(file)))
  await look('an answer of nulls', file => nullify(good.get(file)))
  for (const [file, body] of good)
    for (const [leaf, path] of leavesOf(body).slice(0, leaves).entries())
      for (const other of valuesAt(leaf, valuesPerLeaf)) {
        const damaged = replaceAt(body, path, other)
        const title = `${path.join('.')} = ${JSON.stringify(other).slice(0, 40)}`
        await look(title, asked => (asked === file ? damaged : good.get(asked)))
      }
  return faults
}
