import { createReadStream, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'
import { ShoalError } from '../../../shared/errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { Store } from '../../kernel/store/store.ts'
import { type FileFormat, FORMAT_TYPES } from './files/file-format.ts'
import { readFile } from './files/read-file.ts'
import { upsertRecords } from './record-rows.ts'
import { findRegister } from './register-list.ts'

interface ExampleFile {
  register: string
  records: Record<string, unknown>[]
}

/**
 * Loads the files of a folder, each named by its register, as example records of a tenant that has
 * no records. Throws `invalid_request` for a file that does not fit, before anything is written.
 */
export const loadExample = async (
  { ledger }: Pick<Store, 'ledger'>,
  folder: string,
  { tenantId, by }: { tenantId: string; by: Actor },
): Promise<number> => {
  const files: ExampleFile[] = []
  for (const name of readdirSync(folder).sort())
    if (formatOfName(name) !== undefined) files.push(await readExample(join(folder, name), name))
  return ledger.sealed.write(async trx => {
    const query = trx.selectFrom('register_records').select('id').where('tenant_id', '=', tenantId)
    if ((await query.executeTakeFirst()) !== undefined) return 0
    const at = await ledger.nowMs(trx)
    for (const { register, records } of files)
      await upsertRecords(trx, { tenantId, register }, records, {
        isExample: true,
        at,
        by: by.actor,
      })
    const count = files.reduce((sum, { records }) => sum + records.length, 0)
    const action = 'register.example'
    const details = { records: count }
    const entry = { ...by, at, tenant: tenantId, action, subject: tenantId, details }
    await appendAudit(trx, { ...entry, outcome: 'done' })
    return count
  })
}

const formatOfName = (name: string): FileFormat | undefined => {
  const ending = extname(name).slice(1)
  return ending in FORMAT_TYPES ? (ending as FileFormat) : undefined
}

const readExample = async (path: string, name: string): Promise<ExampleFile> => {
  const register = findRegister(name.slice(0, -extname(name).length))
  const format = formatOfName(name)
  if (register === undefined || format === undefined)
    throw new ShoalError('invalid_request', `${name} is named after no register`)
  const records: ExampleFile['records'] = []
  for await (const { line, value, fault } of readFile(
    createReadStream(path),
    format,
    register.record,
  )) {
    const { data, error } = register.record.safeParse(value)
    if (fault !== undefined || error !== undefined)
      throw new ShoalError('invalid_request', `${name}, line ${line}: ${fault ?? error?.message}`)
    records.push(data)
  }
  return { register: register.id, records }
}
