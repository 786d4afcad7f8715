import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { SOURCES } from '../../discovery/upstreams/sources.ts'
import { openScene } from '../support/coordinator.ts'
import { answersOf, listHostileAnswers } from '../support/hostile-documents.ts'
import { openUpstreamServer } from '../support/upstream-server.ts'

/** Longest time for which one answer of a source may hold the event loop, milliseconds. */
const MOST_HELD_MS = 250

/**
 * Asks sources that answer hostile documents of full size, with a free key, and measures for how long
 * the event loop of the coordinator is held. The processor time is that of its thread alone, so that
 * a busy machine does not count.
 */
export const main = async (): Promise<boolean> => {
  const ends: (() => unknown)[] = []
  const scope = { teardown: (end: () => unknown) => void ends.push(end) }
  const hostile = listHostileAnswers(1)
  const server = await openUpstreamServer(scope as never, answersOf(hostile))
  const urls = Object.fromEntries(SOURCES.map(({ id }) => [id, { url: server.urlOf(id) }]))
  const sources = { ...urls, entsoe: { ...urls.entsoe, key: 'sesame' } }
  const config = { site: { lat: 48.1, lon: 11.5 }, upstreams: { sources } }
  const { app, demo } = await openScene(scope as never, { config })
  const rows = []
  for (const { title, skill, input } of hostile) {
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const before = process.threadCpuUsage()
    const answer = await app.inject({
      method: 'POST',
      url: `/v1/skills/${skill}`,
      headers: { authorization: `Bearer ${demo.free}` },
      payload: input,
    })
    const { user } = process.threadCpuUsage(before)
    await setImmediate()
    delay.disable()
    const { error, data } = answer.json()
    rows.push({
      title,
      held_ms: Math.round(delay.max / 1e6),
      thread_ms: Math.round(user / 1000),
      rss_mib: Math.round(process.memoryUsage.rss() / 2 ** 20),
      answer: JSON.stringify(error?.message ?? data).slice(-80),
    })
  }
  console.table(rows)
  for (const end of ends.reverse()) await end()
  return rows.every(({ held_ms, thread_ms }) => Math.min(held_ms, thread_ms) <= MOST_HELD_MS)
}
