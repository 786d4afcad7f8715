import * as z from 'zod'
import { KEY_KINDS, ROLES } from '../../kernel/declaration/key.ts'
import { GateDefinition, GateId } from './definition.ts'

const DECISIONS = ['allowed', 'needs_gate', 'denied'] as const
export type Decision = (typeof DECISIONS)[number]

/** Action such as `device.command.unsafe`, or a prefix that ends with a star. */
const ActionPattern = z
  .string()
  .max(128)
  .regex(/^[a-z0-9_-]+(\.[a-z0-9_-]+)*(\.\*)?$|^\*$/)

const Rule = z.strictObject({
  id: z.string().min(1).max(64),
  actions: z.array(ActionPattern).min(1).max(200),
  /** Kinds of keys that the rule applies to; all when absent. */
  kinds: z.array(z.enum(KEY_KINDS)).min(1).optional(),
  /** Roles of which one is required; the rule applies to everybody when absent. */
  roles: z.array(z.enum(ROLES)).min(1).optional(),
  /** Members that the context must have, with exactly these values. */
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

/** The human-approval boundary as a document. */
export const PolicyDocument = z.strictObject({
  /** Version of the document, such as `2026-11`. */
  version: z.string().min(1).max(64),
  rules: z.array(Rule).min(1).max(500),
  /** Expected decisions of the rules, checked at each load. */
  tests: z.array(Case).min(1).max(1000),
  /** Gates that override those of the configuration. */
  gates: z.record(GateId, GateDefinition).optional(),
})
export type PolicyDocument = z.output<typeof PolicyDocument>
