import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { KEY_KINDS, ROLES } from '../keys/key.ts'
import { GateDefinition, GateId } from './definition.ts'

const DECISIONS = ['allowed', 'needs_gate', 'denied'] as const
export type Decision = (typeof DECISIONS)[number]

/** `device.command.unsafe`, or with a star at the end everything that begins so. */
const ActionPattern = z
  .string()
  .max(128)
  .regex(/^[a-z0-9_-]+(\.[a-z0-9_-]+)*(\.\*)?$|^\*$/)

const Rule = z.strictObject({
  id: z.string().min(1).max(64),
  actions: z.array(ActionPattern).min(1).max(200),
  /** Kinds of keys that it holds for; all when absent. */
  kinds: z.array(z.enum(KEY_KINDS)).min(1).optional(),
  /** It holds for who has one of these; for all when absent. */
  roles: z.array(z.enum(ROLES)).min(1).optional(),
  /** Members that the context must have with just these values. */
  when: z.record(z.string(), z.json()).optional(),
  decision: z.enum(DECISIONS),
  gate: GateId.optional(),
  reason: z.string().min(1).max(500),
})
export type Rule = z.output<typeof Rule>

const Case = z.strictObject({
  action_type: z.string().max(128),
  kind: z.enum(KEY_KINDS).default('person'),
  roles: z.array(z.enum(ROLES)).default(['client']),
  context: z.record(z.string(), z.json()).default({}),
  expect: z.enum(DECISIONS),
  gate: GateId.optional(),
})

/** The human-approval boundary as it is written down. */
export const PolicyDocument = z.strictObject({
  /** Its name among its own earlier ones, such as `2026-11`. */
  version: z.string().min(1).max(64),
  rules: z.array(Rule).min(1).max(500),
  /** What the rules must come to; looked at each time they are loaded. */
  tests: z.array(Case).min(1).max(1000),
  /** Gates laid over those of the configuration. */
  gates: z.record(GateId, GateDefinition).optional(),
})
export type PolicyDocument = z.output<typeof PolicyDocument>

/**
 * The value of a text in YAML, of which JSON is a part. Throws what the parser throws, which else
 * writes pieces of the text to the log where it only wonders.
 */
export const documentOf = (text: string): unknown => parse(text, { logLevel: 'error' })

/** Throws `config_invalid` for a file that cannot be read. */
export const documentOfFile = (file: string | URL): unknown => {
  try {
    return documentOf(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new ShoalError('config_invalid', `policy ${file} cannot be read`, { cause })
  }
}
