import { DAY_MS } from '../../shared/time.ts'

/** One report, as a client asks for it. */
export interface Case {
  what: string
  path: string
  body?: object
}

const SKILLS = [
  'performance-report',
  'quality-report',
  'gap-report',
  'system-analytics',
  'ops-daily-status',
  'fleet-optimize',
  'get_metamorphosis_status',
  'cost-analysis',
  'arr-analysis',
  'tenant-overview',
  'tenant-health',
  'tenant-metrics',
]

/** Groups of the usage list, each asked for a day, a month and the year. */
const GROUPS = [
  ['day'],
  ['hour'],
  ['model'],
  ['tenant'],
  ['key', 'model'],
  ['tenant', 'day'],
  ['hour', 'key', 'model'],
  ['model', 'hour'],
  ['key', 'model', 'hour'],
]
const PERIODS = { day: 1, month: 30, year: 365 }

/** Reports with periods of their own, and the usage of three periods in every shape. */
export const listCases = (now: number): Case[] => [
  ...SKILLS.map(id => ({ what: id, path: `/v1/skills/${id}`, body: {} })),
  { what: 'dashboard', path: '/portal/api/otrs/dashboard' },
  ...Object.entries(PERIODS).flatMap(([period, days]) => {
    const from = new Date(now - days * DAY_MS).toISOString()
    const usage = (what: string, query: string): Case => ({
      what: `usage, ${period}, ${what}`,
      path: `/v1/usage?from=${from}&${query}`,
    })
    return [
      ...GROUPS.map(groups => {
        const query = groups.map(name => `group_by=${name}`).join('&')
        return usage(`all by ${groups.join(', ')}`, `scope=all&${query}&limit=1000`)
      }),
      usage('tenant by day, model', 'scope=tenant&group_by=day&group_by=model&limit=1000'),
      usage('own key by day', 'scope=key&group_by=day&limit=1000'),
    ]
  }),
]
