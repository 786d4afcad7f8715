import { program } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'vbox-info',
  call: 'vboxInfo',
  description: 'Virtual machines of VirtualBox.',
  shape: 'list',
  removed: ['UUID', 'hardwareUUID', 'configFile', 'logFolder', 'snapshotFolder'],
  needs: [program('vboxmanage', 'VBoxManage')],
})
