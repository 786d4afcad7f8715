/** Responses that clients asked to keep. */
export interface ResponseTables {
  stored_responses: StoredResponseRow
}

export interface StoredResponseRow {
  id: string
  key_id: string
  tenant_id: string
  created_at: number
  expires_at: number
  /** Items of the whole conversation up to the response. */
  input_json: string
  /** The response as the client got it. */
  response_json: string
}
