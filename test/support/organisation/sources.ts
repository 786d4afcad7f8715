import type { Test } from 'tap'
import { SOURCES } from '../../../discovery/upstreams/sources.ts'
import { openDnsServer } from '../dns-server.ts'
import { fixtureFor, LOOKUP_CASES, readFixture } from '../lookup-cases.ts'
import { openUpstreamServer, type SourceAnswer } from '../upstream-server.ts'
import { FIXTURE_NOW } from '../upstreams.ts'

/** Sources that are asked by another protocol, or at an address that an answer names. */
const ASKED_OTHERWISE = ['dns', 'whois', 'matrix']

/** Fixtures of each source, as the case of its first module names them. */
const answersOfSources = (now: number): Record<string, SourceAnswer> => ({
  ...Object.fromEntries(
    SOURCES.filter(({ id }) => !ASKED_OTHERWISE.includes(id)).flatMap(({ id }) => {
      const found = LOOKUP_CASES.find(({ source }) => source === id)
      const answer: SourceAnswer = ({ path }) => ({ file: fixtureFor(found?.files ?? {}, path) })
      return found === undefined ? [] : [[id, answer]]
    }),
  ),
  'energy-charts': { body: pricesOn(now), headers: { 'content-type': 'application/json' } },
})

const DAY_MS = 86_400_000

/** Prices are of single days: those of the fixture, moved to the day of the coordinator. */
const pricesOn = (now: number): string => {
  const prices = readFixture('energy-charts', 'good.json') as { unix_seconds: number[] }
  const days = Math.floor(now / DAY_MS) - Math.floor(FIXTURE_NOW / DAY_MS)
  const unix_seconds = prices.unix_seconds.map(at => at + (days * DAY_MS) / 1000)
  return JSON.stringify({ ...prices, unix_seconds })
}

const ZONE = {
  'A example.org': [{ type: 'A', name: 'example.org', data: '203.0.113.7', ttl: 300 }],
  'MX example.org': [
    {
      type: 'MX',
      name: 'example.org',
      data: { preference: 10, exchange: 'mx.example.org' },
      ttl: 300,
    },
  ],
  'NS example.org': [{ type: 'NS', name: 'example.org', data: 'ns1.example.org', ttl: 300 }],
} as const

/** Configuration of a coordinator whose outside sources are servers on loopback with fixtures. */
export const openSources = async (t: Pick<Test, 'teardown'>, now: number) => {
  const answers = answersOfSources(now)
  const server = await openUpstreamServer(t, answers)
  const { address } = await openDnsServer(t, ZONE as never)
  const sources = Object.fromEntries(
    Object.keys(answers).map(id => {
      const settings = LOOKUP_CASES.find(({ source }) => source === id)?.settings
      return [id, { ...settings, url: server.urlOf(id) }]
    }),
  )
  return {
    site: { lat: 48.1, lon: 11.5 },
    outbound: { allow: [new URL(server.urlOf('')).host], allow_http: true },
    upstreams: {
      egress: 'on',
      contact: 'https://nordlicht.example/contact',
      sources: {
        ...sources,
        dns: { servers: [address] },
        whois: { url: 'whois://127.0.0.1:1' },
        matrix: { servers: ['127.0.0.1:1'] },
      },
    },
  }
}
