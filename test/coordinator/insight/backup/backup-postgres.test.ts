import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import t from 'tap'
import { restoreBackup } from '../../../../coordinator/insight/backup/restore-backup.ts'
import { verifyBackup } from '../../../../coordinator/insight/backup/verify-backup.ts'
import { readArchive } from '../../../../coordinator/kernel/store/postgres/postgres-tools.ts'
import { newId } from '../../../../shared/ids.ts'
import { DAY_MS } from '../../../../shared/time.ts'
import { backupRig, NOW, openWith, queryStore } from '../../../support/backup-rig.ts'
import {
  administerTests,
  createDatabase,
  createStoreDatabase,
  postgresMissing,
} from '../../../support/postgres.ts'
import { temporaryFolder } from '../../kernel/store/temporary.ts'

t.test('a backup of PostgreSQL', { skip: postgresMissing }, async t => {
  const place = await createStoreDatabase(t)
  const { stateDir, folder, keys, addUsage, make } = await backupRig(t, { place })
  const { name, manifest } = await make()
  const path = join(folder, name)
  t.match(manifest, { store: 'postgresql', files: [{ name: 'database.dump' }, {}] })
  const before = await queryStore(stateDir, place, keys.operator)
  await addUsage()

  await t.test('is restored into a database for the test, which is gone afterwards', async t => {
    const leftover = newId('shoal_verify', NOW - 2 * DAY_MS)
    await administerTests(`create database "${leftover}" owner "${place.user}"`)
    const verified = await verifyBackup(path, { place, openWith, now: NOW })
    t.strictSame(verified, { audit_rows: before.audit.length })
    const client = new Client(place)
    await client.connect()
    t.teardown(() => client.end())
    const left = "select datname from pg_database where datname like 'shoal\\_verify%'"
    t.strictSame((await client.query(left)).rows, [])
  })

  await t.test('is read to its end by a role that may not create databases', async t => {
    await administerTests(`create role "r_${place.database}" login`)
    t.teardown(() => administerTests(`drop role "r_${place.database}"`))
    const role = { ...place, user: `r_${place.database}` }
    t.strictSame(await verifyBackup(path, { place: role, openWith, now: NOW }), {
      audit_rows: null,
    })
  })

  await t.test('answers as the store did, in an empty database', async t => {
    const to = await createDatabase(t)
    const target = join(await temporaryFolder(t), 'state')
    const { next } = await restoreBackup(path, { stateDir: target, place: to }, openWith)
    t.match(next, /audit accept/)
    t.strictSame(await queryStore(target, to, keys.operator), before)
    const other = join(await temporaryFolder(t), 'state')
    const again = restoreBackup(path, { stateDir: other, place: to }, openWith)
    await t.rejects(again, { code: 'conflict', message: /has tables/ })
    const inFiles = restoreBackup(path, { stateDir: other, place: other }, openWith)
    await t.rejects(inFiles, { code: 'wrong_usage', message: /--store-url/ })
  })

  await t.test('is refused where a byte was changed', async t => {
    const dump = await readFile(join(path, 'database.dump'))
    const at = randomInt(dump.length)
    dump[at] = (dump[at] ?? 0) ^ 1
    await writeFile(join(path, 'database.dump'), dump)
    const refused = { message: /database.dump is changed/ }
    await t.rejects(verifyBackup(path, { place, openWith, now: NOW }), refused, `byte ${at}`)
  })

  await t.test('names the tool that is missing', async t => {
    const { PATH } = process.env
    process.env.PATH = await temporaryFolder(t)
    t.teardown(() => {
      process.env.PATH = PATH
    })
    const missing = { code: 'not_found', message: /pg_dump is not installed.*postgresql-client/ }
    await t.rejects(make({ now: NOW + 1000 }), missing)
  })

  await t.test('says what PostgreSQL says', async t => {
    await writeFile(join(folder, 'not-an-archive'), 'x')
    const said = { code: 'store_unavailable', message: /^pg_restore: / }
    await t.rejects(readArchive(place, join(folder, 'not-an-archive')), said)
  })
})
