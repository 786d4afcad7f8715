import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { waitUntil } from '../../../support/wait-until.ts'
import { notInFiles, temporaryFolder, temporaryStore } from './temporary.ts'

const describeLog = (path: string): { log: number; checkpointed: number } => {
  const database = new Sqlite(path, { readonly: true })
  try {
    const [row] = database.pragma('wal_checkpoint(noop)') as ReturnType<typeof describeLog>[]
    return row ?? { log: 0, checkpointed: 0 }
  } finally {
    database.close()
  }
}

t.test('a long log is checkpointed, but by no commit', { skip: notInFiles }, async t => {
  const folder = await temporaryFolder(t)
  const { records } = await temporaryStore(t, folder)
  const path = join(folder, 'records.db')
  await records.free.write(async trx => {
    await sql`create table filler (content text)`.execute(trx)
    for (let n = 0; n < 1500; n++)
      await sql`insert into filler values (${'x'.repeat(4096)})`.execute(trx)
  })
  const { log, checkpointed } = describeLog(path)
  t.ok(log > 1500)
  t.ok(checkpointed < log, 'the commit left it alone')
  await waitUntil('the thread has done it', () => describeLog(path).checkpointed >= log)
})
