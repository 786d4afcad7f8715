import { defineUrgentOperation } from './urgent-operation.ts'

export default defineUrgentOperation(
  'land',
  'Land a device, at once. It needs no approval and passes every queue.',
)
