import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import { firstIssue } from '../../../../shared/first-issue.ts'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import { accessError } from '../../../calls/invoke/access.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { RecordId, type Register } from '../register.ts'
import { findRegister, REGISTERS } from '../register-list.ts'

export const RegisterName = Id.describe('Name of the register; registers-kinds lists them.')
export const RecordKey = RecordId.describe('Id of the record in the register.')
export const Revision = z
  .int()
  .min(0)
  .exactOptional()
  .describe('Revision that the record must have, so that no change is lost; 0: none exists.')

/** The register and the tenant of a call. Throws `not_found`, and `forbidden` without its roles. */
export const openRegister = (
  id: string,
  { key, tenantId }: Pick<Context, 'tenantId' | 'key'>,
): { register: Register; scope: { tenantId: string } } => {
  const register = findRegister(id)
  if (register === undefined) {
    const candidates = REGISTERS.map(each => each.id).join(', ')
    throw createUnknownError('register', id, { candidates })
  }
  const error = accessError({ access: 'operator', ...rolesOf(register) }, key, `${id}: `)
  if (error !== undefined) throw error
  return { register, scope: scopeOf({ tenantId }) }
}

const rolesOf = ({ roles }: Register) => (roles === undefined ? {} : { roles })

/** A record in the form of its register. Throws `invalid_request` with the field. */
export const parseRecord = (
  { record: schema }: Register,
  id: string,
  record: Record<string, unknown>,
): Record<string, unknown> => {
  if (record.id !== undefined && record.id !== id)
    throw new ShoalError('invalid_request', `record.id must be ${id} or absent`, {
      param: 'record.id',
    })
  const input = { ...record, id }
  const { data, error } = schema.safeParse(input)
  if (error === undefined) return data
  const { param, message } = firstIssue(error, input)
  throw new ShoalError('invalid_request', `record: ${message}`, {
    param: param === undefined ? 'record' : `record.${param}`,
  })
}
