import * as z from 'zod'
import type { CheckResult } from '../checks.ts'
import { type Control, type FrameworkId, loadFeatures, loadFrameworks } from './frameworks.ts'

/** `evidence_found`: every expected item of evidence was found, which is no verdict on the control. */
export const CONTROL_STATES = ['evidence_found', 'partly', 'missing', 'not_applicable'] as const
type ControlState = (typeof CONTROL_STATES)[number]

const UNKNOWN_CONTROL = 'there is no such control; shoal compliance report lists them'

const isControl = (key: string): boolean =>
  Object.values(loadFrameworks()).some(({ id, controls }) =>
    controls.some(control => `${id}/${control.id}` === key),
  )

/** Declaration of an operator about a control: external evidence, or that it does not apply. */
export const Declarations = z
  .record(
    z.string().regex(/^(iso42001|eu-ai-act|gdpr)\/.+/),
    z.strictObject({
      state: z.enum(['done', 'not_applicable']),
      evidence: z.string().min(1).describe('Where it can be seen, or why it does not apply.'),
      by: z.string().min(1).describe('Who says so.'),
      on: z.iso.date(),
    }),
  )
  .superRefine((declared, context) => {
    for (const key of Object.keys(declared).filter(key => !isControl(key)))
      context.addIssue({ code: 'custom', path: [key], message: UNKNOWN_CONTROL })
  })
  .default({})
  .describe('By framework and control, `gdpr/art. 30`; see docs/compliance.md.')
export type Declarations = z.output<typeof Declarations>

interface ControlReport {
  id: string
  title: string
  state: ControlState
  /** Evidence for the state, one line each. */
  evidence: string[]
  /** Missing items, one line each. */
  open: string[]
}

export interface FrameworkReport {
  framework: FrameworkId
  title: string
  source: string
  dates: { date: string; what: string; status: string }[]
  counts: Record<ControlState, number>
  controls: ControlReport[]
}

/** Control -> evidence -> state. It says what there is; it is no verdict on anything. */
export const complianceReport = (
  id: FrameworkId,
  checks: readonly CheckResult[],
  declarations: Declarations,
): FrameworkReport => {
  const { title, source, dates, controls } = loadFrameworks()[id]
  const results = new Map(checks.map(check => [check.id, check]))
  const reports = controls.map(control =>
    controlReport(control, results, declarations[`${id}/${control.id}`]),
  )
  const counts = { evidence_found: 0, partly: 0, missing: 0, not_applicable: 0 }
  for (const { state } of reports) counts[state]++
  return { framework: id, title, source, dates, counts, controls: reports }
}

const controlReport = (
  control: Control,
  results: ReadonlyMap<string, CheckResult>,
  declared: Declarations[string] | undefined,
): ControlReport => {
  const { id, title } = control
  if (declared?.state === 'not_applicable') {
    const why = `does not apply: ${declared.evidence} (${declared.by}, ${declared.on})`
    return { id, title, state: 'not_applicable', evidence: [why], open: [] }
  }
  const parts = [
    ...control.checks.map(name => checkPart(name, results.get(name))),
    ...control.features.map(name => featurePart(name)),
    ...(control.duty === undefined ? [] : [dutyPart(control.duty, declared)]),
  ]
  const evidence = parts.filter(part => part.holds).map(({ text }) => text)
  const open = parts.filter(part => !part.holds).map(({ text }) => text)
  return { id, title, state: stateOf(evidence.length, open.length), evidence, open }
}

interface Part {
  holds: boolean
  text: string
}

const stateOf = (evidence: number, open: number): ControlState => {
  if (open === 0) return 'evidence_found'
  return evidence === 0 ? 'missing' : 'partly'
}

const checkPart = (name: string, result: CheckResult | undefined): Part => {
  if (result === undefined) return { holds: false, text: `check ${name} was not run` }
  const { passed, title, evidence, reason } = result
  return passed
    ? { holds: true, text: `${title} [${evidence}]` }
    : { holds: false, text: `${title} Check failed: ${reason}` }
}

const featurePart = (name: string): Part => {
  const feature = loadFeatures()[name]
  if (feature === undefined) return { holds: false, text: `there is no information about ${name}` }
  return { holds: true, text: `${feature.what} [${feature.evidence}]` }
}

const dutyPart = (duty: string, declared: Declarations[string] | undefined): Part =>
  declared === undefined
    ? { holds: false, text: `${duty} Nobody has declared it.` }
    : {
        holds: true,
        text: `${duty} Declared by ${declared.by} on ${declared.on}: ${declared.evidence}`,
      }
