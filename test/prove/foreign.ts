import { SOURCES } from '../../discovery/upstreams/sources.ts'
import { openScene } from '../support/coordinator.ts'
import { answersOf, listHostileAnswers } from '../support/hostile-documents.ts'
import { measureLongestTurn } from '../support/longest-turn.ts'
import { openUpstreamServer } from '../support/upstream-server.ts'

/** Longest turn of the event loop, in milliseconds, that one answer or import may take. */
const MOST_MS = 50
const ROWS = 100_000

type Scene = Awaited<ReturnType<typeof openScene>>

/**
 * Asks sources that answer hostile documents of full size, with a free key, and imports large files:
 * neither may hold the event loop of the coordinator.
 */
export const main = async (): Promise<boolean> => {
  const ends: (() => unknown)[] = []
  const scope = { teardown: (end: () => unknown) => void ends.push(end) }
  const hostile = listHostileAnswers(1)
  const server = await openUpstreamServer(scope as never, answersOf(hostile))
  const urls = Object.fromEntries(SOURCES.map(({ id }) => [id, { url: server.urlOf(id) }]))
  const sources = { ...urls, entsoe: { ...urls.entsoe, key: 'sesame' } }
  const config = { site: { lat: 48.1, lon: 11.5 }, upstreams: { sources } }
  const scene = await openScene(scope as never, { config })
  // loading modules takes turns of its own
  await ask(scene, { title: '', key: scene.demo.free, url: '/v1/skills/iss-position', payload: {} })
  const rows = []
  for (const { title, skill, input: payload } of hostile)
    rows.push(
      await ask(scene, { title, key: scene.demo.free, url: `/v1/skills/${skill}`, payload }),
    )
  for (const each of listImports(scene)) rows.push(await ask(scene, each))
  console.table(rows)
  for (const end of ends.reverse()) await end()
  return rows.every(({ longest_ms }) => longest_ms <= MOST_MS)
}

interface Question {
  title: string
  key: string
  url: string
  payload: object | string
  type?: string
}

const ask = async ({ app }: Scene, { title, key, url, payload, type }: Question) => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': type ?? 'application/json' }
  const { result, longestMs } = await measureLongestTurn(() =>
    app.inject({ method: 'POST', url, headers, payload }),
  )
  return {
    title,
    longest_ms: longestMs,
    rss_mib: Math.round(process.memoryUsage.rss() / 2 ** 20),
    status: result.statusCode,
    answer: result.body.slice(-100),
  }
}

const repeat = (count: number, text: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => text(at)).join('')

const listImports = ({ demo: { operator: key } }: Scene): Question[] => {
  const costs = (at: number) => ({ id: `c-${at}`, category: 'hosting', name: `rack ${at}`, at })
  const url = '/v1/imports/registers/costs?mode=merge'
  const edges = repeat(9000, at => `a:${at},uses,b:${at % 100},1\n`)
  return [
    {
      ...{ title: `CSV of ${ROWS} records`, key, url, type: 'text/csv' },
      payload: `id,category,name,amount_eur,started_on\n${repeat(ROWS, at => `c-${at},hosting,rack ${at},1.5,2026-01-01\n`)}`,
    },
    {
      ...{ title: `JSON lines of ${ROWS} records`, key, url, type: 'application/jsonl' },
      payload: repeat(ROWS, at => {
        const { id, category, name } = costs(at)
        return `${JSON.stringify({ id, category, name, amount_eur: 1, started_on: '2026-01-01' })}\n`
      }),
    },
    {
      ...{ title: 'YAML of 10,000 records', key, url, type: 'application/yaml' },
      payload: repeat(
        10_000,
        at =>
          `- id: c-${at}\n  category: hosting\n  name: rack\n  amount_eur: 1\n  started_on: 2026-01-01\n`,
      ),
    },
    {
      ...{ title: 'graph of 9,000 edges', key, url: '/v1/graph/layers/edges' },
      payload: {
        format: 'csv',
        text: `source,relation,target,weight\n${edges}`,
      },
    },
  ]
}
