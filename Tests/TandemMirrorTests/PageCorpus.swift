import TandemHTTP

/// Responses in the forms of real services. Each list has one or two records.
extension PageCorpusTests {
  static let moreExcerpts: [Envelope] = [
    .init(
      "not negated", "rows",
      #"{"rows":[{"id":1}],"message":"ids are not truncated, rows are truncated"}"#, says: "message"
    ),
    .init("a cursor like a version", "rows", #"{"rows":[{"id":1}],"next":"v2"}"#, says: "next"),
    .init(
      "a time", "rows", #"{"rows":[{"id":1}],"next":"2027-01-31T12:00:00Z"}"#, says: "next"),
    .init(
      "Google Custom Search", "items",
      #"{"queries":{"nextPage":[{"title":"x","count":1,"startIndex":2}]},"items":[{"id":1}]}"#,
      says: "`paging` cursor=queries.nextPage.0.startIndex,PARAM"),
    .init(
      "Facebook, summary", "data", #"{"data":[{"id":1}],"summary":{"total_count":9}}"#,
      says: "summary.total_count"),
    .init(
      "Salesforce, size alone", "records", #"{"records":[{"id":1}],"totalSize":9,"done":true}"#,
      says: "totalSize"),
    .init("thousands", "rows", #"{"rows":[{"id":1}],"total":"1,099"}"#, says: "1099 records"),
    .init("more than", "rows", #"{"rows":[{"id":1}],"total":"1+"}"#, says: "2 records"),
    .init("no success", "rows", #"{"rows":[{"id":1}],"success":false}"#, says: "success is false"),
    .init("not ok", "rows", #"{"rows":[{"id":1}],"ok":false}"#, says: "ok is false"),
    .init(
      "a search", "rows", #"{"search":{"timed_out":true},"rows":[{"id":1}]}"#,
      says: "search.timed_out"),
    .init(
      "Elasticsearch, at least", "hits.hits",
      #"{"hits":{"total":{"value":1,"relation":"gte"},"hits":[{"_id":"1"}]}}"#, says: "hits.total"),
    .init("X-Cursor", nil, #"[{"id":1}]"#, ["X-Cursor": "ab"], says: "header=X-Cursor,PARAM"),
    .init(
      "Amazon", nil, #"[{"id":1}]"#, ["x-amzn-next-token": "ab"],
      says: "header=x-amzn-next-token,PARAM"),
    .init(
      "single quotes", nil, #"[{"id":1}]"#, ["Link": "</2>; rel='next'"], says: "`paging` link"),
    .init(
      "HAL, array", "rows", #"{"_links":{"next":[{"href":"/hal?page=2"}]},"rows":[{"id":1}]}"#,
      says: "`paging` cursor=_links.next.0.href,"),
    .init(
      "links, array", "rows", #"{"links":{"next":[{"href":"/2"}]},"rows":[{"id":1}]}"#,
      says: "`paging` cursor=links.next.0.href,"),
    .init(
      "next, array", "rows", #"{"next":[{"href":"/2"}],"rows":[{"id":1}]}"#,
      says: "`paging` cursor=next.0.href,"),
    .init(
      "position, array", "rows", #"{"paging":{"next":[{"page":2}]},"rows":[{"id":1}]}"#,
      says: "`paging` cursor=paging.next.0.page,PARAM"),
    .init("flag as 1", "rows", #"{"has_more":"1","rows":[{"id":1}]}"#, says: "has_more"),
    .init("flag as Y", "rows", #"{"has_more":"Y","rows":[{"id":1}]}"#, says: "has_more"),
    .init("flag as 0", "rows", #"{"eof":0,"rows":[{"id":1}]}"#, says: "eof is 0"),
    .init("complete as 0", "rows", #"{"is_complete":0,"rows":[{"id":1}]}"#, says: "is_complete"),
    .init("JSend", "rows", #"{"status":"error","rows":[{"id":1}]}"#, says: "status"),
    .init(
      "a query that runs", "rows", #"{"queryStatus":"in_progress","rows":[{"id":1}]}"#,
      says: "queryStatus"),
  ]

  static let excerpts: [Envelope] = [
    .init(
      "BigQuery, done", "rows", #"{"jobComplete":true,"pageToken":"B","rows":[{"id":1}]}"#,
      says: "cursor=pageToken,PARAM"),
    .init(
      "Convex", "page", #"{"page":[{"id":1}],"isDone":true,"continueCursor":"x"}"#,
      says: "cursor=continueCursor,PARAM"),
    .init(
      "a contradiction", "rows",
      #"{"has_more":false,"next_cursor":"x","total":2,"rows":[{"id":1}]}"#, says: "2 records"),
    .init(
      "GitHub GraphQL", "data.repos.nodes",
      #"{"data":{"repos":{"nodes":[{"id":1}],"pageInfo":{"hasNextPage":true,"endCursor":"Y3"}}}}"#,
      says: "cursor=data.repos.pageInfo.endCursor,PARAM"),
    .init(
      "Relay, totalCount", "data.users.edges",
      #"{"data":{"users":{"totalCount":9,"edges":[{"id":1}]}}}"#, says: "data.users.totalCount"),
    .init(
      "MediaWiki", "query.allpages",
      #"{"batchcomplete":"","continue":{"apcontinue":"B","continue":"-||"},"query":{"allpages":[{"id":1}]}}"#,
      says: "continue"),
    .init(
      "STAC", "features",
      #"{"features":[{"id":1}],"links":[{"rel":"self","href":"/1"},{"rel":"next","href":"/2"}]}"#,
      says: "`paging` cursor=links.next,"),
    .init(
      "FHIR", "entry",
      #"{"entry":[{"id":1}],"link":[{"relation":"next","url":"http://a/2"}],"total":1}"#,
      says: "`paging` cursor=link.next,"),
    .init(
      "Siren", "entities",
      #"{"entities":[{"id":1}],"links":[{"rel":["next"],"href":"/2"}]}"#, says: "links.next"),
    .init(
      "ArcGIS", "features", #"{"features":[{"id":1}],"exceededTransferLimit":true}"#,
      says: "exceededTransferLimit"),
    .init(
      "ArcGIS, GeoJSON", "features",
      #"{"features":[{"id":1}],"properties":{"exceededTransferLimit":true}}"#,
      says: "properties.exceededTransferLimit"),
    .init(
      "OGC API Features", "features",
      #"{"features":[{"id":1}],"numberMatched":7,"numberReturned":1}"#, says: "numberMatched"),
    .init(
      "GeoServer", "features", #"{"features":[{"id":1}],"totalFeatures":7,"numberReturned":1}"#,
      says: "totalFeatures"),
    .init(
      "Salesforce", "records",
      #"{"records":[{"id":1}],"totalSize":1,"done":false,"nextRecordsUrl":"/query/01g-2000"}"#,
      says: "`paging` cursor=nextRecordsUrl,"),
    .init(
      "Salesforce, flag alone", "records", #"{"records":[{"id":1}],"done":false}"#, says: "done"),
    .init(
      "GBIF", "results", #"{"results":[{"id":1}],"offset":0,"limit":1,"endOfRecords":false}"#,
      says: "endOfRecords is false"),
    .init(
      "Bitbucket Server", "values", #"{"values":[{"id":1}],"isLastPage":false}"#, says: "isLastPage"
    ),
    .init(
      "Spring Data", "content", #"{"content":[{"id":1}],"last":false,"number":0}"#, says: "last"),
    .init(
      "Spring HATEOAS", "_embedded.users",
      #"{"_embedded":{"users":[{"id":1}]},"page":{"size":1,"totalPages":4,"number":0}}"#,
      says: "page.totalPages is 4"),
    .init(
      "AWS", "Reservations", #"{"Reservations":[{"id":1}],"NextToken":"eyJ2"}"#,
      says: "cursor=NextToken,PARAM"),
    .init(
      "S3", "Result.Contents",
      #"{"Result":{"Contents":[{"id":1}],"IsTruncated":true,"MaxKeys":1}}"#, says: "IsTruncated"),
    .init(
      "DynamoDB", "Items", #"{"Items":[{"id":1}],"Count":1,"LastEvaluatedKey":{"id":{"N":"1"}}}"#,
      says: "LastEvaluatedKey"),
    .init(
      "Elasticsearch", "hits.hits",
      #"{"timed_out":false,"hits":{"total":{"value":10000,"relation":"gte"},"hits":[{"_id":"1"}]}}"#,
      says: "hits.total"),
    .init(
      "Elasticsearch, timed out", "hits.hits",
      #"{"timed_out":true,"hits":{"total":{"value":1},"hits":[{"_id":"1"}]}}"#, says: "timed_out"),
    .init(
      "Elasticsearch, failed shards", "hits.hits",
      #"{"_shards":{"total":5,"failed":1},"hits":{"total":1,"hits":[{"_id":"1"}]}}"#,
      says: "_shards.failed"),
    .init(
      "Overpass", "elements",
      #"{"elements":[{"id":1}],"remark":"runtime error: Query timed out in \"query\" at line 1"}"#,
      says: "remark"),
    .init(
      "GraphQL with errors", "data.users",
      #"{"data":{"users":[{"id":1}]},"errors":[{"message":"shard 2 is down"}]}"#, says: "errors"),
    .init(
      "GitHub search", "items", #"{"items":[{"id":1}],"incomplete_results":true}"#,
      says: "incomplete_results"),
    .init(
      "Facebook", "data",
      #"{"data":[{"id":1}],"paging":{"cursors":{"after":"QV"},"next":"https://a/?after=QV"}}"#,
      says: "`paging` cursor=paging.next,"),
    .init(
      "HubSpot", "results",
      #"{"results":[{"id":1}],"paging":{"next":{"after":"NTI1","link":"https://a/"}}}"#,
      says: "paging.next"),
    .init(
      "Slack", "members", #"{"members":[{"id":1}],"response_metadata":{"next_cursor":"dX"}}"#,
      says: "response_metadata.next_cursor"),
    .init(
      "Twitter", "data", #"{"data":[{"id":1}],"meta":{"result_count":1,"next_token":"7140"}}"#,
      says: "meta.next_token"),
    .init(
      "Zendesk", "users", #"{"users":[{"id":1}],"meta":{"has_more":true,"after_cursor":"xx"}}"#,
      says: "cursor=meta.after_cursor,PARAM"),
    .init(
      "Zoho", "data", #"{"data":[{"id":1}],"info":{"more_records":true,"count":1}}"#,
      says: "info.more_records"),
    .init(
      "Zoho Books", "invoices", #"{"invoices":[{"id":1}],"page_context":{"has_more_page":true}}"#,
      says: "page_context.has_more_page"),
    .init(
      "Cloudflare", "result",
      #"{"result":[{"id":1}],"result_info":{"page":1,"total_pages":3},"errors":[]}"#,
      says: "result_info.total_pages"),
    .init(
      "Airtable", "records", #"{"records":[{"id":"a"}],"offset":"itrA/recB"}"#,
      says: "cursor=offset,PARAM"),
    .init(
      "Reddit", "data.children", #"{"data":{"after":"t3_x","before":null,"children":[{"id":1}]}}"#,
      says: "data.after"),
    .init(
      "Kubernetes", "items",
      #"{"items":[{"id":1}],"metadata":{"continue":"ENC","remainingItemCount":9}}"#,
      says: "metadata.continue"),
    .init(
      "Kubernetes, number alone", "items",
      #"{"items":[{"id":1}],"metadata":{"remainingItemCount":9}}"#, says: "remainingItemCount"),
    .init(
      "Nexus", "items", #"{"items":[{"id":1}],"continuationToken":"88e0"}"#,
      says: "continuationToken"),
    .init(
      "OData 2", "d.results", #"{"d":{"results":[{"id":1}],"__next":"https://a/?$skip=1"}}"#,
      says: "`paging` cursor=d.__next,"),
    .init(
      "OData 2, count", "d.results", #"{"d":{"results":[{"id":1}],"__count":"91"}}"#,
      says: "91 records"),
    .init(
      "OData 4", "value", #"{"value":[{"id":1}],"@odata.nextLink":"https://a/2"}"#,
      says: "@odata.nextLink"),
    .init(
      "API Platform", "hydra:member",
      #"{"hydra:member":[{"id":1}],"hydra:view":{"hydra:next":"/b?page=2"}}"#,
      says: "hydra:view.hydra:next"),
    .init(
      "Solr", "response.docs", #"{"response":{"numFound":7,"start":0,"docs":[{"id":1}]}}"#,
      says: "response.numFound"),
    .init("Algolia", "hits", #"{"hits":[{"id":1}],"nbHits":7,"nbPages":1}"#, says: "nbHits"),
    .init(
      "Laravel", "data", #"{"data":[{"id":1}],"meta":{"current_page":1,"last_page":3}}"#,
      says: "meta.last_page"),
    .init(
      "World Bank", "1", #"[{"page":1,"pages":7,"per_page":"1","total":7},[{"id":1}]]"#,
      says: "0.pages"),
    .init(
      "Square", "payments", #"{"payments":[{"id":1}],"cursor":"4c1"}"#, says: "cursor=cursor,PARAM"),
    .init(
      "named after the list", "repositories",
      #"{"repositories":[{"id":1}],"total_repositories":80}"#, says: "total_repositories"),
    .init(
      "Express", "results", #"{"results":[{"id":1}],"next":{"page":2,"limit":1}}"#,
      says: "next.page"),
    .init("GitLab", nil, #"[{"id":1}]"#, ["X-Total-Pages": "4"], says: "X-Total-Pages"),
    .init(
      "Azure", nil, #"[{"id":1}]"#, ["x-ms-continuationtoken": "abc"],
      says: "header=x-ms-continuationtoken,PARAM"),
    .init(
      "ASP.NET", nil, #"[{"id":1}]"#, ["X-Pagination": #"{"TotalCount":8,"HasNext":false}"#],
      says: "X-Pagination.TotalCount"),
    .init("a flag in the head", nil, #"[{"id":1}]"#, ["X-Has-More": "true"], says: "X-Has-More"),
    .init(
      "a status of its own", "rows", #"{"rows":[{"id":1}],"status":"PARTIAL"}"#, says: "status"),
    .init(
      "Ashby", "results", #"{"success":true,"results":[{"id":1}],"moreDataAvailable":true}"#,
      says: "moreDataAvailable"),
    .init("CloudKit", "zones", #"{"zones":[{"id":1}],"moreComing":true}"#, says: "moreComing"),
    .init(
      "Azure Resource Graph", "data",
      #"{"totalRecords":1,"count":1,"data":[{"id":1}],"resultTruncated":"true"}"#,
      says: "resultTruncated"),
    .init(
      "Azure Resource Graph, token alone", "data", #"{"data":[{"id":1}],"$skipToken":"ew"}"#,
      says: "cursor=$skipToken,PARAM"),
    .init(
      "BigQuery", "rows", #"{"jobComplete":false,"rows":[{"id":1}]}"#, says: "jobComplete is false"),
    .init(
      "AWS tags", "ResourceTagMappingList",
      #"{"PaginationToken":"ey","ResourceTagMappingList":[{"id":1}]}"#, says: "PaginationToken"),
    .init(
      "EVE Online", nil, #"[{"id":1}]"#, ["X-Pages": "3"], says: "X-Pages of the response is 3"),
    .init(
      "Yii", nil, #"[{"id":1}]"#, ["X-Pagination-Total-Count": "9"],
      says: "X-Pagination-Total-Count"),
    .init("PostgREST", nil, #"[{"id":1}]"#, ["Content-Range": "0-0/319"], says: "319 records"),
    .init(
      "Jira", "values", #"{"values":[{"id":1}],"startAt":0,"maxResults":1,"isLast":false}"#,
      says: "isLast"),
    .init(
      "Confluence", "results",
      #"{"results":[{"id":1}],"size":1,"_links":{"base":"https://a","next":"/rest?start=1"}}"#,
      says: "`paging` cursor=_links.next,"),
    .init(
      "Intercom", "data",
      #"{"data":[{"id":1}],"pages":{"page":1,"next":{"page":2,"starting_after":"Wz"}}}"#,
      says: "pages.next"),
    .init(
      "LinkedIn", "elements",
      #"{"elements":[{"id":1}],"paging":{"start":0,"count":1,"links":[{"rel":"next","href":"/2"}]}}"#,
      says: "cursor=paging.links.next,"),
    .init(
      "Directus", "data", #"{"data":[{"id":1}],"meta":{"total_count":57,"filter_count":7}}"#,
      says: "7 records"),
    .init(
      "PocketBase", "items", #"{"page":1,"perPage":1,"totalItems":7,"items":[{"id":1}]}"#,
      says: "totalItems"),
    .init(
      "Strapi", "data",
      #"{"data":[{"id":1}],"meta":{"pagination":{"page":1,"pageSize":1,"pageCount":4}}}"#,
      says: "meta.pagination.pageCount is 4"),
    .init(
      "CKAN", "result.records",
      #"{"result":{"records":[{"id":1}],"limit":1,"total":5,"_links":{"next":"/api?offset=1"}}}"#,
      says: "cursor=result._links.next,"),
    .init(
      "Meilisearch", "hits", #"{"hits":[{"id":1}],"offset":0,"limit":1,"estimatedTotalHits":66}"#,
      says: "estimatedTotalHits"),
    .init(
      "Europe PMC", "resultList.result", #"{"hitCount":93,"resultList":{"result":[{"id":1}]}}"#,
      says: "hitCount"),
    .init(
      "Solr with a cursor", "response.docs",
      #"{"response":{"docs":[{"id":1}]},"nextCursorMark":"AoE"}"#, says: "nextCursorMark"),
    .init(
      "Opendatasoft", "records", #"{"nhits":9,"parameters":{"rows":1},"records":[{"id":1}]}"#,
      says: "nhits"),
    .init(
      "Instagram", "items", #"{"items":[{"id":1}],"more_available":true,"num_results":1}"#,
      says: "more_available"),
    .init(
      "mongoose-paginate", "docs",
      #"{"docs":[{"id":1}],"totalDocs":4,"page":1,"nextPage":2}"#, says: "cursor=nextPage,PARAM"),
    .init("Zhihu", "data", #"{"paging":{"is_end":false},"data":[{"id":1}]}"#, says: "is_end"),
    .init(
      "an address of more", "rows", #"{"rows":[{"id":1}],"moreResults":"/rows?after=1"}"#,
      says: "`paging` cursor=moreResults,"),
    .init(
      "GitHub GraphQL, search", "data.search.nodes",
      #"{"data":{"search":{"issueCount":57,"nodes":[{"id":1}]}}}"#, says: "issueCount"),
    .init("PHP", "rows", #"{"rows":[{"id":1}],"total":57.0}"#, says: "57 records"),
    .init(
      "Hydra", "member", #"{"totalItems":9,"member":[{"id":1}]}"#, says: "totalItems"),
    .init(
      "Collection+JSON", "collection.items",
      #"{"collection":{"items":[{"id":1}],"links":[{"rel":"next","href":"/2"}]}}"#,
      says: "collection.links.next"),
    .init(
      "Prometheus", "data",
      #"{"status":"success","data":[{"id":1}],"warnings":["results truncated due to limit"]}"#,
      says: "warnings"),
    .init(
      "Shopline", "data.a.nodes",
      #"{"data":{"a":{"nodes":[{"id":1}],"pageInfo":{"hasNextPage":"true"}}}}"#,
      says: "hasNextPage"),
    .init(
      "old MediaWiki", "query.allpages",
      #"{"query-continue":{"allpages":{"apcontinue":"B"}},"query":{"allpages":[{"id":1}]}}"#,
      says: "query-continue"),
  ]

  static let lists: [Envelope] = [
    .init(
      "GitHub GraphQL", "data.repos.nodes",
      #"{"data":{"repos":{"totalCount":1,"nodes":[{"id":1}],"pageInfo":{"hasNextPage":false,"endCursor":"Y3"}},"rateLimit":{"remaining":4999,"limit":5000}}}"#
    ),
    .init(
      "Facebook", "data",
      #"{"data":[{"id":1}],"paging":{"cursors":{"before":"MQ","after":"MTAx"}}}"#),
    .init(
      "Google with a token for later", "items",
      #"{"items":[{"id":1}],"nextSyncToken":"CPDAl","kind":"x","etag":"\"1\""}"#),
    .init(
      "OData delta", "value",
      #"{"value":[{"id":1}],"@odata.count":1,"@odata.deltaLink":"https://a/d"}"#),
    .init(
      "Elasticsearch", "hits.hits",
      #"{"took":5,"timed_out":false,"_shards":{"total":5,"successful":5,"failed":0},"hits":{"total":{"value":1,"relation":"eq"},"max_score":9,"hits":[{"_id":"1"}]}}"#
    ),
    .init(
      "StackExchange", "items",
      #"{"items":[{"id":1}],"has_more":false,"quota_max":300,"quota_remaining":299}"#),
    .init(
      "an invoice", "lines", #"{"lines":[{"id":1}],"subtotal":40,"total":48,"currency":"EUR"}"#),
    .init(
      "an amount", "lines",
      #"{"lines":[{"id":1}],"total":48.5,"total_amount":4850,"total_price":4850}"#),
    .init(
      "TVmaze", "_embedded.episodes",
      #"{"_links":{"self":{"href":"/1"},"nextepisode":{"href":"/9"}},"_embedded":{"episodes":[{"id":1}]}}"#
    ),
    .init(
      "json-server", "todos",
      #"{"todos":[{"id":1}],"nextId":2,"next_update":"2027-01-01","nextYear":"/2027"}"#),
    .init(
      "upcoming events", "current",
      #"{"current":[{"id":1}],"next":[{"id":2}],"previous":[{"id":0}]}"#),
    .init(
      "the next article", "comments",
      #"{"comments":[{"id":1}],"next":{"title":"On lists","author":"N"}}"#),
    .init(
      "Zendesk", "users",
      #"{"users":[{"id":1}],"meta":{"has_more":false,"after_cursor":"xx"},"links":{"next":"/x"}}"#),
    .init("Salesforce", "records", #"{"records":[{"id":1}],"totalSize":1,"done":true}"#),
    .init(
      "Spring Data", "content",
      #"{"content":[{"id":1}],"last":true,"totalPages":1,"totalElements":1,"number":0}"#),
    .init(
      "Cloudflare", "result",
      #"{"result":[{"id":1}],"errors":[],"messages":[],"success":true,"result_info":{"page":1,"total_pages":1,"count":1,"total_count":1}}"#
    ),
    .init(
      "Baidu", "result",
      #"{"result":[{"id":1}],"error":{"code":0,"message":"success"},"message":"ok","status":0}"#),
    .init("a book", "chapters", #"{"chapters":[{"id":1}],"pages":320,"count":1,"language":"en"}"#),
    .init(
      "a task list", "tasks",
      #"{"tasks":[{"id":1}],"completed":false,"incomplete":3,"finished":false}"#),
    .init(
      "Airtable", "records",
      #"{"records":[{"id":"a"}],"offset":0,"limit":100,"after":"2026-01-01"}"#),
    .init(
      "DataTables", "data", #"{"data":[{"id":1}],"draw":1,"recordsTotal":57,"recordsFiltered":1}"#),
    .init(
      "S3", "Contents",
      #"{"Contents":[{"id":1}],"IsTruncated":false,"NextMarker":"","MaxKeys":1000}"#),
    .init(
      "JSON:API", "data",
      #"{"data":[{"id":1}],"links":{"self":"/1","first":"/1","last":"/1","next":null,"prev":null},"meta":{"total":1}}"#
    ),
    .init(
      "a file store", "files",
      #"{"files":[{"id":1}],"total_size":104857600,"truncated":false,"partial":false}"#),
    .init(
      "Twitter search", "statuses",
      #"{"statuses":[{"id":1}],"search_metadata":{"count":100,"max_id":7,"since_id":0}}"#),
    .init(
      "a quiz", "questions",
      #"{"questions":[{"id":1}],"timeout":30,"attemptsRemaining":3,"more_info":"/help","warnings":["use v2"]}"#
    ),
    .init(
      "links of a page", "items",
      #"{"items":[{"id":1}],"links":[{"rel":"self","href":"/1"},{"rel":"prev","href":"/0"}],"next":{}}"#
    ),
    .init(
      "limits of requests", nil, #"[{"id":1}]"#,
      ["X-RateLimit-Remaining": "58", "X-RateLimit-Limit": "60", "X-Cache-Hits": "3"]),
    .init(
      "GitLab", nil, #"[{"id":1}]"#,
      ["X-Total": "1", "X-Total-Pages": "1", "X-Next-Page": "", "X-Page": "1", "X-Per-Page": "20"]),
  ]

  static let furtherLists: [Envelope] = [
    .init(
      "negations", "rows",
      #"{"rows":[{"id":1}],"message":"The list was not truncated","note":"No partial results","warning":"no more results"}"#
    ),
    .init("a version", "rows", #"{"rows":[{"id":1}],"version":"v1","next":"v2"}"#),
    .init("a day", "rows", #"{"rows":[{"id":1}],"meta":{"next":"2027-01-31"}}"#),
    .init("a time zone", "rows", #"{"rows":[{"id":1}],"offset":"+02:00"}"#),
    .init(
      "a report with a summary", "tests",
      #"{"tests":[{"id":1}],"summary":{"total":4850,"passed":1},"success":3,"total":"12,5"}"#),
    .init("tasks", "tasks", #"{"tasks":[{"id":1}],"done":0,"last":1,"end":0}"#),
    .init("events", "now", #"{"now":[{"id":1}],"next":[{"url":"/e/7","start":"19:00","id":7}]}"#),
    .init(
      "GitHub search", "items", #"{"total_count":1,"incomplete_results":false,"items":[{"id":1}]}"#),
    .init("Google Drive", "files", #"{"incompleteSearch":false,"files":[{"id":1}]}"#),
    .init(
      "not incomplete", "rows",
      #"{"is_incomplete":false,"meta":{"incomplete":false},"rows":[{"id":1}]}"#),
    .init(
      "LinkedIn", "elements",
      #"{"elements":[{"id":1}],"paging":{"start":0,"count":10,"total":1,"links":[]}}"#),
    .init(
      "Directus", "data", #"{"data":[{"id":1}],"meta":{"total_count":57,"filter_count":1}}"#),
    .init(
      "DataTables 1.9", "aaData",
      #"{"aaData":[{"id":1}],"sEcho":1,"iTotalRecords":57,"iTotalDisplayRecords":1}"#),
    .init(
      "an order", "items",
      #"{"status":"PARTIALLY_SHIPPED","state":"incomplete","items":[{"id":1}]}"#
    ),
    .init(
      "a subscription of Stripe", "items.data",
      #"{"status":"incomplete","items":{"object":"list","data":[{"id":"a"}],"has_more":false}}"#),
    .init(
      "another list of GraphQL", "data.users.nodes",
      #"{"data":{"users":{"nodes":[{"id":1}]},"repos":{"nodes":[{"id":1}],"totalCount":9,"pageInfo":{"hasNextPage":true,"endCursor":"Y"}}}}"#
    ),
    .init(
      "Jira", "values", #"{"values":[{"id":1}],"maxResults":50,"total":1,"isLast":true}"#),
    .init(
      "PocketBase", "items",
      #"{"page":1,"perPage":30,"totalPages":1,"totalItems":1,"items":[{"id":1}]}"#),
    .init(
      "Strapi", "data",
      #"{"data":[{"id":1}],"meta":{"pagination":{"page":1,"pageSize":25,"pageCount":1,"total":1}}}"#
    ),
    .init("a scan", "keys", #"{"keys":[{"id":1}],"cursor":"0","next":"0"}"#),
    .init(
      "CloudWatch", "events",
      #"{"events":[{"id":1}],"nextForwardToken":"f/3","nextBackwardToken":"b/3"}"#),
    .init(
      "Confluence", "results",
      #"{"results":[{"id":1}],"start":0,"limit":25,"size":1,"_links":{"base":"https://a","self":"/1"}}"#
    ),
    .init("EVE Online", nil, #"[{"id":1}]"#, ["X-Pages": "1"]),
    .init("Sentry", nil, #"[{"id":1}]"#, ["Link": #"</2>; rel="next"; results="false""#]),
    .init(
      "Prometheus", "data",
      #"{"status":"success","data":[{"id":1}],"infos":["metric m is a gauge"]}"#
    ),
    .init(
      "USGS", "features",
      #"{"type":"FeatureCollection","metadata":{"generated":1,"status":200,"count":1},"features":[{"id":1}],"bbox":[1,2]}"#
    ),
    .init(
      "mongoose-paginate", "docs",
      #"{"docs":[{"id":1}],"totalDocs":1,"hasNextPage":false,"nextPage":null,"pagingCounter":1}"#),
    .init(
      "Shopify GraphQL", "data.a.nodes",
      #"{"data":{"a":{"nodes":[{"id":1}]}},"extensions":{"cost":{"throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":998}}}}"#
    ),
    .init("OpenAI", "data", #"{"data":[{"id":1}],"first_id":"a","last_id":"b","has_more":false}"#),
    .init("a page of news", "items", #"{"items":[{"id":1}],"more":"https://a.example/news"}"#),
    .init("an index", "entries", #"{"first":"a","last":"n","entries":[{"id":1}]}"#),
    .init("a budget", "data", #"{"data":[{"id":1}],"credits":9,"remaining":5,"used":4}"#),
    .init(
      "Spotify", "items",
      #"{"items":[{"id":1}],"next":null,"cursors":{"after":null},"total":1,"limit":20}"#),
    .init(
      "Splunk", "entry",
      #"{"entry":[{"id":1}],"messages":[{"type":"INFO","text":"done"}],"paging":{"total":1}}"#),
    .init(
      "a game", "players", #"{"players":[{"id":1}],"finished":false,"round":{"next":3,"last":9}}"#),
    .init(
      "a report", "rows",
      #"{"rows":[{"id":1}],"message":"2 of your 3 requests were partially cached","errors":{}}"#),
  ]
}
