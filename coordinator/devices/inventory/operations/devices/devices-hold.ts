import { defineUrgentOperation } from './urgent-operation.ts'

export default defineUrgentOperation(
  'hold',
  'Hold a device where it is, at once. It needs no approval and passes every queue.',
)
