import { stringify } from 'yaml'
import * as z from 'zod'
import { createUnknownError } from '../../../../../shared/reference-errors.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { GateViews } from '../../open.ts'
import { NOBODY, PolicyRecord, toPolicyRecord } from './policy-view.ts'

export default defineOperation({
  id: 'policy-show',
  description: 'Show the policy in force, its source, and whether the policy file matches it.',
  method: 'GET',
  path: '/v1/policy',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({
    number: z
      .int()
      .min(0)
      .exactOptional()
      .describe('Earlier version to show; 0 is the configured policy.'),
    as: z
      .enum(['json', 'yaml'])
      .default('json')
      .describe('Output format; YAML is the bare document, as `policy_file` accepts it.'),
  }),
  output: PolicyRecord.extend({
    /** True for the one by which is decided now. */
    in_force: z.boolean(),
    /** The one of the configuration: its file (null for the shipped one) and hash. */
    configured: z.object({ file: z.string().nullable(), hash: z.string() }),
    /** Difference between the configured policy and the one in force; null when they match. */
    drift: z.string().nullable(),
    /** Rules that this version ships and the policy in force lacks; policy-upgrade adds them. */
    missing_rules: z.array(z.string()),
    document: z.json(),
    content_type: z.string().nullable(),
    text: z.string().nullable(),
  }),
  text: { body: 'text', type: 'content_type', types: ['text/plain'] },
  run: async ({ number, as }, context: GateViews) => {
    const { policies } = context
    const { document, ...record } = await findPolicy(number, context)
    const { outdatedFile, file = outdatedFile, hash } = policies.configured
    return {
      ...record,
      in_force: record.number === policies.current().number,
      configured: { file: file ?? null, hash },
      drift: policies.drift() ?? null,
      missing_rules: policies.findMissingRules(),
      document: document as z.core.util.JSONType,
      content_type: as === 'yaml' ? 'text/plain; charset=utf-8' : null,
      text: as === 'yaml' ? stringify(document) : null,
    }
  },
})

const findPolicy = async (number: number | undefined, { policies }: GateViews) => {
  const current = policies.current()
  if (number === undefined || number === current.number) {
    const { stored, version, hash, source, document } = current
    const record =
      stored === undefined
        ? { number: 0, version, hash, source, ...NOBODY }
        : toPolicyRecord(stored)
    return { ...record, document }
  }
  if (number === 0) {
    const { version, hash, file, document } = policies.configured
    const source = file === undefined ? ('shipped' as const) : ('file' as const)
    return { number, version, hash, source, ...NOBODY, document }
  }
  const policy = await policies.findByNumber(number)
  if (policy === undefined) throw createUnknownError('policy', number)
  return { ...toPolicyRecord(policy), document: policy.document }
}
