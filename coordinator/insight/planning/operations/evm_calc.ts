import * as z from 'zod'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import {
  EARNED_VALUE_FIELDS,
  EarnedValueView,
  findBeyondBudget,
  viewEarnedValue,
} from './earned-value-view.ts'

export default defineSkill({
  id: 'evm_calc',
  group: 'planning',
  name: 'Earned value metrics',
  description:
    'Compute earned value metrics of a project: CPI, SPI, EAC by four methods, ETC, VAC, TCPI and the variances.',
  tags: ['planning', 'finance', 'earned-value'],
  access: 'key',
  effect: 'read',
  constantBecause: 'It computes from its arguments alone.',
  publishesInput: false,
  input: z.strictObject(EARNED_VALUE_FIELDS).superRefine((amounts, context) => {
    const beyond = findBeyondBudget(amounts)
    if (beyond !== undefined)
      context.addIssue({ code: 'custom', path: [beyond.field], message: beyond.message })
  }),
  output: EarnedValueView,
  examples: [{ bac: 100_000, pv: 50_000, ev: 40_000, ac: 45_000 }],
  run: input => viewEarnedValue(input),
})
