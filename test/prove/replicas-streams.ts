import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type OpenStream, openStream } from './support/open-stream.ts'
import { ReplicaSet } from './support/replica-set.ts'

/** A retry is served within this time of the end of its stream. */
const RETRY_MS = 1000
/** Time in which a stream of another coordinator would have ended too. */
const WATCHED_MS = 2000

/**
 * Streams through three coordinators, one of which is killed with kill -9: only its own streams end,
 * and their retries through the balancer are served within a second.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { streams: { type: 'string', default: '256' } } as const
  const count = Number(parseArgs({ args: argv, options }).values.streams)
  const set = await ReplicaSet.start()
  try {
    return await proveStreams(set, count)
  } finally {
    await set.stop()
  }
}

/** Kills the first coordinator while streams run; it stays dead. */
export const proveStreams = async (set: ReplicaSet, count: number): Promise<boolean> => {
  const agent = new Agent()
  try {
    const open = (index: number) => openStream(agent, set.replica(index).url, set.keys.enterprise)
    const streams = Array.from({ length: count }, (_, index) => open(index))
    const statuses = await Promise.all(streams.map(({ status }) => status))
    const refused = statuses.filter(status => status !== 200).length
    const killedAtMs = performance.now()
    await set.replica(0).process.end('SIGKILL')
    const own = streams.filter((_, index) => index % set.replicas.length === 0)
    const retries = await Promise.all(own.map(stream => retry(set, agent, stream)))
    await sleep(Math.max(0, killedAtMs + WATCHED_MS - performance.now()))
    const foreign = streams.filter(stream => !own.includes(stream))
    const broken = foreign.filter(({ endedAtMs }) => endedAtMs() !== undefined).length
    const slowestMs = Math.round(Math.max(...retries.map(({ afterMs }) => afterMs)))
    const failed = retries.filter(({ status }) => status !== 200).length
    console.log(
      `${count} streams (${refused} refused), ${own.length} at the killed coordinator ` +
        `(${countEach(retries.map(({ how }) => how))}), ${broken} of the others ended; ` +
        `retries: ${failed} failed, the slowest was served after ${slowestMs} ms`,
    )
    for (const stream of streams) stream.leave()
    return refused === 0 && broken === 0 && failed === 0 && slowestMs <= RETRY_MS
  } finally {
    agent.destroy()
  }
}

/** Asks again through the balancer as soon as the stream has ended, and again where it must. */
const retry = async (set: ReplicaSet, agent: Agent, stream: OpenStream) => {
  const how = await stream.ended
  const endedAtMs = performance.now()
  for (;;) {
    const again = openStream(agent, set.url, set.keys.enterprise)
    const status = await again.status
    const afterMs = performance.now() - endedAtMs
    if (status === 200 || afterMs > 10 * RETRY_MS) {
      again.leave()
      return { how, status, afterMs }
    }
    await sleep(20)
  }
}

const countEach = (words: readonly string[]): string =>
  [...new Set(words)]
    .map(word => `${words.filter(each => each === word).length} ${word}`)
    .join(', ')
