import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import * as z from 'zod'
import { lazy } from '../../../../shared/lazy.ts'

export const FRAMEWORK_IDS = ['iso42001', 'eu-ai-act', 'gdpr'] as const
export type FrameworkId = (typeof FRAMEWORK_IDS)[number]

const Control = z.strictObject({
  id: z.string(),
  title: z.string(),
  /** Governance checks that must hold. */
  checks: z.array(z.string()).default([]),
  /** Features with which shoal meets the control by itself. */
  features: z.array(z.string()).default([]),
  /** Duty of the operator's staff; it counts once it is declared. */
  duty: z.string().optional(),
})
export type Control = z.output<typeof Control>

const Framework = z.strictObject({
  id: z.enum(FRAMEWORK_IDS),
  title: z.string(),
  source: z.string(),
  dates: z.array(z.strictObject({ date: z.iso.date(), what: z.string(), status: z.string() })),
  controls: z.array(Control),
})
type Framework = z.output<typeof Framework>

const Features = z.record(z.string(), z.strictObject({ what: z.string(), evidence: z.string() }))

const read = (name: string): unknown =>
  parse(readFileSync(new URL(`${name}.yaml`, import.meta.url), 'utf8'))

/** The frameworks by id, as their files say. */
export const loadFrameworks = lazy(
  (): Readonly<Record<FrameworkId, Framework>> => ({
    iso42001: Framework.parse(read('iso42001')),
    'eu-ai-act': Framework.parse(read('eu-ai-act')),
    gdpr: Framework.parse(read('gdpr')),
  }),
)

export const loadFeatures = lazy(() => Features.parse(read('features')))
