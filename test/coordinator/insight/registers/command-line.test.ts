import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { governanceScene } from '../../../support/governance.ts'
import { shoal, spawnShoal } from '../../../support/shoal-program.ts'
import { temporaryFolder } from '../../kernel/store/temporary.ts'

t.test('the command line imports, shows, exports and erases records', async t => {
  const { app, demo } = await governanceScene(t)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const folder = await temporaryFolder(t)
  const env = { SHOAL_URL: `http://127.0.0.1:${port}`, SHOAL_KEY: demo.operator, HOME: folder }
  const file = join(folder, 'people.csv')
  const text =
    'id,name,email,team,job_title,manager_id,full_time_equivalent,state,started_on,ended_on\r\n' +
    'p-1,Mira Holm,,A,,,1,active,2026-01-01,\r\n'
  await writeFile(file, text)

  const imported = await shoal(env, ['registers', 'import', 'people', file, '--dry-run'])
  t.match([imported.code, imported.out], [0, /is_applied\s+false/])
  const kinds = await shoal(env, ['registers', 'kinds'])
  t.match(kinds.out, /people.*id,name,email\?,/s)
  t.match(await shoal(env, ['registers', 'import', 'people', file]), { code: 0, out: /added\s+1/ })
  t.match(await shoal(env, ['registers', 'show', 'people', 'p-1']), { code: 0, out: /Mira Holm/ })
  const exported = await shoal(env, ['registers', 'export', 'people'])
  t.equal(exported.out, text)
  const put = ['registers', 'put', 'services', 'portal', 'name=Portal', 'owner_id=p-1']
  t.match(await shoal(env, put), { code: 0, out: /revision\s+1/ })
  t.match(await shoal(env, ['people', 'export', 'p-1']), { code: 0, out: /services/ })
  t.match(await shoal(env, ['people', 'erase', 'p-1']), { out: /records_deleted\s+1/ })
  t.match(await shoal(env, ['people', 'erase', 'p-1']), {
    code: 66,
    err: /list the existing ones with: shoal registers list people/,
  })
  t.match(await shoal(env, ['registers', 'import', 'people', join(folder, 'none.csv')]), {
    code: 65,
    err: /none\.csv: there is no such file/,
  })
  t.match(await spawnShoal(env, ['backup', 'create']), {
    code: 64,
    err: /passphrase of the backup is missing/,
  })

  await writeFile(file, 'id,name\np-1,Mira\n')
  const dry = await shoal(env, ['registers', 'import', 'people', file, '--dry-run'])
  t.match([dry.code, dry.out], [65, /is_valid\s+false/], 'a script notices')
  const refused = await shoal(env, ['registers', 'import', 'people', file])
  t.match([refused.code, refused.err], [65, /line 2: team is missing/])
  t.match(await shoal(env, ['registers', 'import', 'people', join(folder, 'people.txt')]), {
    code: 65,
    err: /must end with one of \.csv/,
  })
})
