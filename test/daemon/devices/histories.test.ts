import t from 'tap'
import { main as proveDevices } from '../../prove/devices.ts'
import { MEMORY_FOLDER } from '../../support/memory-folder.ts'

t.test('a device acts once, in time and as people have approved, in any history', async t => {
  const counts = ['--approvals', '50', '--histories', '60', '--seed', '7']
  t.ok(await proveDevices([...counts, '--folder', MEMORY_FOLDER]))
})
