import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { FORMAT_TYPES, formatOfType } from '../files/file-format.ts'
import type { RegisterViews } from '../open.ts'
import { openRegister, RegisterName } from './register-access.ts'

export default defineOperation({
  id: 'registers-import',
  description:
    'Import a CSV, YAML or JSON file into a register; one invalid record refuses the whole file.',
  method: 'POST',
  path: '/v1/imports/registers/{register}',
  access: 'operator',
  effect: 'write',
  tool: false,
  timeoutSeconds: 600,
  upload: Object.values(FORMAT_TYPES),
  input: z.strictObject({
    register: RegisterName,
    mode: z
      .enum(['merge', 'replace'])
      .default('merge')
      .describe('replace also deletes the records that the file lacks.'),
    dry_run: z.boolean().default(false).describe('Validate the file and change nothing.'),
  }),
  output: z.object({
    register: z.string(),
    is_applied: z.boolean(),
    is_valid: z.boolean().describe('False when a dry run found invalid records.'),
    records: z.int().describe('Records in the file.'),
    added: z.int(),
    replaced: z.int(),
    removed: z.int(),
    example_records_removed: z
      .int()
      .describe('Records of the example organisation, which own records replace.'),
    error_count: z.int(),
    errors: z
      .array(z.object({ line: z.int(), param: z.string().nullable(), message: z.string() }))
      .describe('The first 100 errors, by line.'),
  }),
  /** Exit code of the refusal of the import itself: 65, invalid data. */
  success: { field: 'is_valid', codes: { true: 0, false: 65 } },
  run: async ({ register: name, mode, dry_run }, context: Context & RegisterViews) => {
    const { register, scope } = openRegister(name, context)
    const { registers, actor: by, signal, upload } = context
    const format = formatOfType(upload?.type ?? '')
    if (upload === undefined || format === undefined)
      throw new ShoalError('invalid_request', 'the body must be a CSV, YAML or JSON file')
    const report = await registers.import(
      register,
      { format, open: upload.open, sha256: upload.sha256 },
      { ...scope, by, mode, isDryRun: dry_run, signal },
    )
    return {
      register: register.id,
      is_applied: report.isApplied,
      is_valid: report.faultCount === 0,
      records: report.records,
      added: report.added,
      replaced: report.replaced,
      removed: report.removed,
      example_records_removed: report.examplesRemoved,
      error_count: report.faultCount,
      errors: report.faults,
    }
  },
})
