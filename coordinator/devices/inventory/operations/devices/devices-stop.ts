import { defineUrgentOperation } from './urgent-operation.ts'

export default defineUrgentOperation(
  'stop',
  'Stop a device at once. It needs no approval and passes every queue.',
)
