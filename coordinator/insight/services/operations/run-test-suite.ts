import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { REALMS } from '../services.ts'
import { listCases, SCENARIOS, type SuiteCase, type SuiteViews } from './test-suite.ts'

const SCOPES = ['smoke', 'auth', 'magic', 'all'] as const
const REALM = /^[\w.-]{1,64}$/
const MAX_REALMS = 16
const DEFAULT_REALMS = REALMS.join(',')

const Done = z.object({
  id: z.string(),
  scope: z.enum(['smoke', 'auth', 'magic']),
  outcome: z.enum(['passed', 'failed', 'skipped']).nullable().describe('Null in a dry run.'),
  reason: z.string().nullable(),
  duration_ms: z.number().nullable(),
})
type Done = z.input<typeof Done>

export default defineSkill({
  id: 'run-test-suite',
  group: 'fleet',
  name: 'Run test suite',
  description:
    'Run real checks against the running system. What is not configured is skipped with the reason.',
  tags: ['tests', 'services', 'health'],
  access: 'operator',
  effect: 'read',
  openWorld: true,
  timeoutSeconds: 120,
  input: z.strictObject({
    scenario: z
      .enum(SCENARIOS)
      .default('keycloak-full')
      .describe('`regression` also calls every skill that only reads, with its example.'),
    scope: z.enum(SCOPES).default('all').describe('Checks to run, by what they show.'),
    realms: z
      .string()
      .max(1024)
      .default(DEFAULT_REALMS)
      .describe(
        'Keycloak realms, separated by commas; the default stands for the configured ones, services.keycloak.realms.',
      ),
    dry_run: z.boolean().default(false).describe('List the checks without running them.'),
  }),
  examples: [{ scenario: 'minimal', scope: 'smoke' }],
  output: z.object({
    scenario: z.enum(SCENARIOS),
    scope: z.enum(SCOPES),
    passed: z.int(),
    failed: z.int(),
    skipped: z.int(),
    cases: z.array(Done),
  }),
  success: { field: 'failed', codes: { 0: 0, '*': 1 } },
  run: async ({ scenario, scope, realms, dry_run }, context: Context & SuiteViews) => {
    const cases = listCases(scenario, parseRealms(realms), context).filter(
      each => scope === 'all' || each.scope === scope,
    )
    const done: Done[] = []
    for (const { id, scope, run } of cases) {
      const begun = context.runtime.nowMs()
      const { outcome, reason } = dry_run
        ? { outcome: null, reason: undefined }
        : await tryCase(run, context)
      const duration_ms = dry_run ? null : Math.round(context.runtime.nowMs() - begun)
      done.push({ id, scope, outcome, reason: reason ?? null, duration_ms })
      await context.progress({ done: done.length, total: cases.length, message: id })
    }
    const count = (wanted: string) => done.filter(({ outcome }) => outcome === wanted).length
    return {
      scenario,
      scope,
      passed: count('passed'),
      failed: count('failed'),
      skipped: count('skipped'),
      cases: done,
    }
  },
})

/** Undefined for the default, so that the configured realms are asked. */
const parseRealms = (text: string): string[] | undefined => {
  if (text === DEFAULT_REALMS) return undefined
  const realms = text.split(',').map(realm => realm.trim())
  if (realms.length <= MAX_REALMS && realms.every(realm => REALM.test(realm))) return realms
  throw new ShoalError(
    'invalid_request',
    `it must have 1 to ${MAX_REALMS} names of letters, digits, dots and hyphens`,
    { param: 'realms' },
  )
}

/** A case that ends in an error has failed, such as one that needs the store while it is away. */
const tryCase = async (run: SuiteCase['run'], context: Context & SuiteViews) => {
  try {
    return await run(context)
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    return { outcome: 'failed' as const, reason: error.message }
  }
}
