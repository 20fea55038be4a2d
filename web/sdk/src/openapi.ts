/** Generated from the server's OpenAPI document by `make types`: do not edit. */

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * Acknowledged
         * @description Everything up to this cursor has arrived.
         */
        Acknowledged: {
            cursor: string;
        };
        /**
         * ActionsTab
         * @description Open cards, the oldest first, each with what you can do.
         */
        ActionsTab: {
            cards: components["schemas"]["CardView"][];
            /**
             * @default actions
             * @enum {unknown}
             */
            tab: "actions";
        };
        /** AmendmentView */
        AmendmentView: {
            amount: components["schemas"]["MoneyView"];
            card_id: string;
            created_at: string;
            id: string;
            items: Record<string, unknown>[];
            /** @enum {unknown} */
            kind: "expense" | "extras" | "overtime";
            /** @enum {unknown} */
            state: "booked" | "failed" | "paid" | "pending" | "void";
            title: string;
        };
        /** BookingAndThread */
        BookingAndThread: {
            booking: components["schemas"]["BookingView"];
            thread: components["schemas"]["ThreadView"] | null;
        };
        /** BookingView */
        BookingView: {
            buyer: string;
            cancellation_policy: components["schemas"]["TierView"][];
            created_at: string;
            currency: string;
            failure_code: string | null;
            id: string;
            legs: components["schemas"]["LegView"][];
            /** @enum {unknown} */
            state: "cancelled" | "confirmed" | "confirming" | "proposed";
            thread_id: string | null;
            total: components["schemas"]["MoneyView"];
            updated_at: string;
        };
        /**
         * CalendarAddress
         * @description A secret address: whoever has it sees your bookings' times and titles.
         */
        CalendarAddress: {
            url: string;
        };
        /**
         * Cancellation
         * @description `by`: on whose behalf. The buyer gets back what the policy says; for the seller, and where
         *         nobody is named, everything is given back.
         */
        Cancellation: {
            by?: ("buyer" | "seller") | null;
        };
        /**
         * CardActionView
         * @description Something that the viewer can do with a card now; `input` says what it takes besides.
         */
        CardActionView: {
            action: string;
            input: Record<string, unknown> | null;
            label: string;
            /** @enum {unknown} */
            style: "danger" | "primary" | "secondary";
        };
        /** CardLabels */
        CardLabels: {
            state: string;
            title: string;
        };
        /** CardMade */
        CardMade: {
            card: components["schemas"]["CardView"];
            message: components["schemas"]["MessageView"];
        };
        /** CardOnly */
        CardOnly: {
            card: components["schemas"]["CardView"];
        };
        /** CardPage */
        CardPage: {
            card: components["schemas"]["CardView"];
            history: components["schemas"]["HistoryView"][];
        };
        /** CardTypeView */
        CardTypeView: {
            create: string[];
            document: boolean;
            erases_payload: boolean;
            initial: string;
            needs_leg: boolean;
            payload: Record<string, unknown>;
            states: components["schemas"]["StateView"][];
            threads: string[];
            timers: components["schemas"]["TimerView"][];
            title: string;
            transitions: components["schemas"]["TransitionView"][];
            type: string;
        };
        /**
         * CardView
         * @description A card as it is now. `message_id` is null while its message is on its way to the thread.
         */
        CardView: {
            answers_card: string | null;
            available_actions: components["schemas"]["CardActionView"][];
            buyer: string | null;
            created_at: string;
            created_by: string;
            expires_at: string | null;
            group_id: string | null;
            id: string;
            labels?: components["schemas"]["CardLabels"] | null;
            leg_id: string | null;
            message_id: string | null;
            payload: Record<string, unknown>;
            seller: string | null;
            signers?: Record<string, unknown>[] | null;
            state: string;
            thread_id: string;
            totals: Record<string, unknown>;
            type: string;
            updated_at: string;
            version: number;
            waits_for: string[];
        };
        /** CatalogueView */
        CatalogueView: {
            locale: string;
            types: components["schemas"]["CardTypeView"][];
        };
        /** DepositView */
        DepositView: {
            amount: components["schemas"]["MoneyView"];
            captured: components["schemas"]["MoneyView"];
            id: string | null;
            state: ("captured" | "failed" | "held" | "pending" | "released") | "none";
        };
        /** DocsTab */
        DocsTab: {
            documents: components["schemas"]["DocumentRowView"][];
            /**
             * @default docs
             * @enum {unknown}
             */
            tab: "docs";
        };
        /**
         * DocumentDraft
         * @description `sha256` is of the file; the signers are parties of the booking.
         */
        DocumentDraft: {
            bytes?: number | null;
            leg_id?: string | null;
            /** @description 64 hexadecimal digits. */
            sha256: string;
            signers: string[];
            title: string;
            url?: string | null;
        };
        /**
         * DocumentRowView
         * @description `card_id`: the open `sign` card of it; `can_ask`: there is none and someone has yet to
         *         sign, so that a party may make one.
         */
        DocumentRowView: {
            bytes: number | null;
            can_ask: boolean;
            card_id: string | null;
            created_at: string;
            id: string;
            leg_id: string | null;
            sha256: string;
            signers: components["schemas"]["SignerView"][];
            /** @enum {unknown} */
            state: "declined" | "expired" | "partly_signed" | "pending" | "signed";
            title: string;
            url: string | null;
        };
        /** DocumentView */
        DocumentView: {
            booking_id: string;
            bytes: number | null;
            created_at: string;
            id: string;
            leg_id: string | null;
            sha256: string;
            signers: components["schemas"]["SignerView"][];
            /** @enum {unknown} */
            state: "declined" | "expired" | "partly_signed" | "pending" | "signed";
            title: string;
            updated_at: string;
            url: string | null;
        };
        /** EventTaken */
        EventTaken: {
            received: boolean;
        };
        /**
         * EventType
         * @enum {unknown}
         */
        EventType: "card.changed" | "inbox.changed" | "message.deleted" | "message.edited" | "message.new" | "receipt" | "reset" | "thread.changed";
        /**
         * EventView
         * @description One change. What changed stands under its own noun, whole, as the viewer may see it now: of
         *         `card.changed` the card, whose `message_id` names the message that shows it.
         *
         *         `thread.changed` without a `thread` means that the viewer is no longer in it.
         */
        EventView: {
            at: string;
            card?: components["schemas"]["CardView"] | null;
            cursor: string;
            inbox?: components["schemas"]["InboxView"] | null;
            message?: components["schemas"]["MessageView"] | null;
            receipt?: components["schemas"]["ReceiptView"] | null;
            thread?: components["schemas"]["ThreadView"] | null;
            thread_id?: string | null;
            type: components["schemas"]["EventType"];
        };
        /**
         * ExpensesTab
         * @description Money of the thread's booking, from the ledger; null and empty before there is one.
         */
        ExpensesTab: {
            legs: components["schemas"]["LegExpensesView"][];
            sums: components["schemas"]["SumView"] | null;
            /**
             * @default expenses
             * @enum {unknown}
             */
            tab: "expenses";
        };
        /** FirstMessage */
        FirstMessage: {
            /** @description At most 2000 characters; a subset of Markdown. Never cut: refused. */
            body: string;
            /** @description Your own id for this send, 1–64 characters; a repeat returns the first. */
            client_id: string;
        };
        /** Health */
        Health: {
            status: string;
        };
        /**
         * HistoryView
         * @description One transition; the first has no `from`. `actor` is null where the server acted.
         */
        HistoryView: {
            act: string;
            actor: string | null;
            at: string;
            from: string | null;
            role: string;
            to: string;
            version: number;
        };
        /** InboxAnswer */
        InboxAnswer: {
            counts: components["schemas"]["InboxCounts"];
            items: components["schemas"]["ThreadItem"][];
            next_cursor: string | null;
            sync_cursor: string;
        };
        /**
         * InboxCounts
         * @description Threads with something unread, per folder.
         */
        InboxCounts: {
            action: number;
            all: number;
            archived: number;
            bookings: number;
            offers: number;
            requests: number;
            spam: number;
        };
        /**
         * InboxEdit
         * @description What is left out stays. `muted_until` takes a time in UTC, or null for none.
         */
        InboxEdit: {
            archived?: boolean;
            muted_until?: string | null;
            pinned?: boolean;
            starred?: boolean;
        };
        /** InboxOnly */
        InboxOnly: {
            inbox: components["schemas"]["InboxView"];
        };
        /**
         * InboxView
         * @description The viewer's own row for a thread; `state` is the thread's state for them.
         */
        InboxView: {
            badges: ("action" | "booking" | "muted")[];
            last_message: components["schemas"]["LastMessageView"] | null;
            last_message_at: string | null;
            last_read: components["schemas"]["ReadMarkView"] | null;
            last_sender_id: string | null;
            muted_until: string | null;
            needs_action: boolean;
            pinned: boolean;
            /** @enum {unknown} */
            placement: "archived" | "inbox" | "requests" | "spam";
            starred: boolean;
            /** @enum {unknown} */
            state: "archived" | "awaiting_reply" | "completed" | "confirmed" | "disputed" | "open" | "pending_decision";
            thread_id: string;
            unread_count: number;
        };
        /**
         * JobParticipants
         * @description The only people who may talk in this job.
         */
        JobParticipants: {
            participants: string[];
        };
        /** JobView */
        JobView: {
            job_id: string;
            participants: string[];
        };
        /** LastMessageView */
        LastMessageView: {
            author_id: string | null;
            card_type?: string | null;
            created_at: string;
            deleted_at: string | null;
            id: string;
            /** @enum {unknown} */
            kind: "asset" | "card" | "system" | "text";
            preview: string;
            system: components["schemas"]["SystemNotice"] | null;
        };
        /** LegDepositView */
        LegDepositView: {
            amount: components["schemas"]["MoneyView"];
            captured: components["schemas"]["MoneyView"];
            held: components["schemas"]["MoneyView"];
            id: string;
            /** @enum {unknown} */
            state: "captured" | "failed" | "held" | "pending" | "released";
        };
        /** LegExpensesView */
        LegExpensesView: {
            amendments: components["schemas"]["AmendmentView"][];
            deposit: components["schemas"]["LegDepositView"] | null;
            /** @enum {unknown} */
            kind: "studio" | "talent";
            leg_id: string;
            /** @enum {unknown} */
            payout: "failed" | "held" | "none" | "paid" | "queued";
            receipts: components["schemas"]["MoneyReceiptView"][];
            refunds: components["schemas"]["RefundView"][];
            /** @enum {unknown} */
            state: "cancelled" | "completed" | "confirmed" | "disputed" | "in_progress" | "proposed";
            sums: components["schemas"]["SumView"];
            title: string;
        };
        /** LegView */
        LegView: {
            cancellation_quote: components["schemas"]["QuoteView"] | null;
            deliverables_accepted_at: string | null;
            deposit: components["schemas"]["DepositView"] | null;
            end: string;
            id: string;
            /** @enum {unknown} */
            kind: "studio" | "talent";
            /** @enum {unknown} */
            payout: "failed" | "held" | "none" | "paid" | "queued";
            price: components["schemas"]["MoneyView"];
            seller: string;
            start: string;
            /** @enum {unknown} */
            state: "cancelled" | "completed" | "confirmed" | "disputed" | "in_progress" | "proposed";
            timezone: string;
            title: string;
            version: number;
        };
        /** ManifestItem */
        ManifestItem: {
            bytes: number;
            name: string;
            /** @description 64 hexadecimal digits. */
            sha256: string;
            /** @description https, of a public host, at most 2048 characters. */
            url: string;
        };
        /**
         * ManifestView
         * @description `sha256` is of `items` as JSON with sorted names and without spaces.
         */
        ManifestView: {
            booking_id: string | null;
            created_at: string;
            created_by: string;
            id: string;
            items: components["schemas"]["ManifestItem"][];
            leg_id: string | null;
            sha256: string;
            thread_id: string;
        };
        /** MessageEdit */
        MessageEdit: {
            /** @description At most 2000 characters; a subset of Markdown. Never cut: refused. */
            body: string;
        };
        /** MessagesAnswer */
        MessagesAnswer: {
            has_more: boolean;
            items: components["schemas"]["MessageView"][];
            sync_cursor: string;
        };
        /**
         * MessageView
         * @description A message. `client_id` is there for its author only. A deleted one keeps its place, empty.
         *
         *         A card is decided before its message is in the thread: until then `id` and `seq` are null.
         */
        MessageView: {
            author_id: string | null;
            body: string;
            body_html: string;
            card?: components["schemas"]["CardView"] | null;
            client_id?: string;
            created_at: string;
            deleted_at: string | null;
            edited_at: string | null;
            id: string | null;
            /** @enum {unknown} */
            kind: "asset" | "card" | "system" | "text";
            reply_to: string | null;
            seq: number | null;
            system: components["schemas"]["SystemNotice"] | null;
            thread_id: string;
        };
        /**
         * MoneyReceiptView
         * @description Where money moved: ours and the payment provider's own number of it.
         */
        MoneyReceiptView: {
            amount: components["schemas"]["MoneyView"];
            at: string;
            card_id: string | null;
            entry_id: string;
            /** @enum {unknown} */
            kind: "capture" | "charge" | "hold" | "payout.paid" | "payout.released" | "payout.returned" | "refund" | "release";
            payment_id: string | null;
            provider_id: string | null;
        };
        /** MoneyView */
        MoneyView: {
            amount_cents: number;
            currency: string;
        };
        /** NewBlock */
        NewBlock: {
            user_id: string;
        };
        /**
         * NewBooking
         * @description Without `thread_id` a thread of the buyer with the sellers is opened. Without `cancellation`
         *         the server's own policy counts.
         */
        NewBooking: {
            buyer: string;
            cancellation?: components["schemas"]["TierView"][] | null;
            /** @description ISO 4217, such as EUR. */
            currency: string;
            legs: components["schemas"]["NewLeg"][];
            thread_id?: string | null;
        };
        /**
         * NewCard
         * @description `payload` is as the type's schema in the catalogue says; totals are computed here.
         */
        NewCard: {
            payload: Record<string, unknown>;
            type: string;
        };
        /** NewLeg */
        NewLeg: {
            /**
             * @description Whole cents.
             * @default 0
             */
            deposit_cents: number;
            /** @description RFC 3339 with an offset. */
            end: string;
            /**
             * @default talent
             * @enum {unknown}
             */
            kind: "studio" | "talent";
            /** @description Whole cents. */
            price_cents: number;
            seller: string;
            /** @description RFC 3339 with an offset. */
            start: string;
            /** @description IANA, such as Europe/Vienna. */
            timezone: string;
            /** @description One line of at most 200 characters. */
            title: string;
        };
        /**
         * NewManifest
         * @description 1 to 500 files that lie elsewhere; they are never fetched. `leg_id` where the project has
         *         several legs.
         */
        NewManifest: {
            items: components["schemas"]["ManifestItem"][];
            leg_id?: string | null;
        };
        /**
         * NewMessage
         * @description `client_id` is the sender's own id for this send: a repeat returns the first message.
         */
        NewMessage: {
            /** @description At most 2000 characters; a subset of Markdown. Never cut: refused. */
            body: string;
            /** @description Your own id for this send, 1–64 characters; a repeat returns the first. */
            client_id: string;
            reply_to?: string | null;
        };
        /** NewParticipant */
        NewParticipant: {
            /** @enum {unknown} */
            role: "admin" | "buyer" | "host" | "seller" | "support";
            user_id: string;
        };
        /**
         * NewThread
         * @description `to` is one user id or several.
         */
        NewThread: {
            first_message: components["schemas"]["FirstMessage"];
            job_id?: string | null;
            /** @enum {unknown} */
            kind: "inquiry" | "invite";
            role_context?: string | null;
            subject?: string | null;
            to: string | string[];
        };
        /**
         * PanelView
         * @description What the panel opens with. `leg_id`: the leg that the thread is about, where it is about one.
         *         `timers`: what is still to come, the next first.
         */
        PanelView: {
            booking: components["schemas"]["BookingView"] | null;
            leg_id: string | null;
            tabs: components["schemas"]["TabView"][];
            timers: components["schemas"]["UpcomingView"][];
        };
        /** ParticipantView */
        ParticipantView: {
            avatar_url: string | null;
            display_name: string;
            joined_at: string;
            last_delivered: components["schemas"]["ReadMarkView"] | null;
            last_read: components["schemas"]["ReadMarkView"] | null;
            /** @enum {unknown} */
            role: "admin" | "buyer" | "host" | "seller" | "support";
            /** @enum {unknown} */
            status: "active" | "blocked" | "left";
            user_id: string;
        };
        /** PersonPresence */
        PersonPresence: {
            online: boolean;
            typing: boolean;
            user_id: string;
        };
        /**
         * PresenceAnswer
         * @description Everybody else in the thread, by user id.
         */
        PresenceAnswer: {
            items: components["schemas"]["PersonPresence"][];
        };
        /**
         * Problem
         * @description What went wrong, as in RFC 9457.
         */
        Problem: {
            /** @enum {string} */
            code: "ACTION_CONFLICT" | "ACTION_INVALID_STATE" | "ACTION_STALE_VERSION" | "CARD_EXPIRED" | "CARD_INVALID" | "EDIT_WINDOW_CLOSED" | "FORBIDDEN" | "IDEMPOTENCY_MISMATCH" | "INTERNAL" | "INVALID_REQUEST" | "MSG_BLOCKED_BY_USER" | "MSG_EMPTY" | "MSG_TOO_LONG" | "NOT_FOUND" | "NOT_IMPLEMENTED" | "PAYLOAD_TOO_LARGE" | "RATE_LIMITED" | "THREAD_LOCKED" | "THREAD_NOT_FOUND" | "UNAUTHENTICATED" | "UNAVAILABLE" | "UNSUPPORTED_TYPE" | "USER_NOT_FOUND";
            corr_id: string;
            detail: string;
            hint: string;
            status: number;
            title: string;
            type: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * Promotion
         * @description The booking that the thread is now about: a group or a single leg.
         */
        Promotion: {
            group_id?: string | null;
            leg_id?: string | null;
        };
        /**
         * ProviderEvent
         * @description Fields that are not known here are passed over: providers add some.
         */
        ProviderEvent: {
            id: string;
            operation: components["schemas"]["ProviderOperation"];
            /** @enum {unknown} */
            type: "operation.failed" | "operation.succeeded";
        };
        /** ProviderOperation */
        ProviderOperation: {
            failure_code?: string | null;
            id: string;
            key: string;
            /** @enum {unknown} */
            status: "failed" | "pending" | "succeeded";
        };
        /**
         * QuoteView
         * @description What the buyer would get back by cancelling now.
         */
        QuoteView: {
            notice_hours: number;
            refund: components["schemas"]["MoneyView"];
            refund_percent: number;
        };
        /** ReadMarkView */
        ReadMarkView: {
            at: string;
            message_id: string;
        };
        /** ReadUpTo */
        ReadUpTo: {
            /** @description The id of a message in this thread. */
            up_to: string;
        };
        /** ReceiptView */
        ReceiptView: {
            at: string;
            /** @enum {unknown} */
            kind: "delivered" | "read";
            message_id: string;
            seq: number;
            user_id: string;
        };
        /** RefundView */
        RefundView: {
            amount: components["schemas"]["MoneyView"];
            card_id: string | null;
            created_at: string;
            id: string;
            /** @enum {unknown} */
            state: "failed" | "queued" | "refunded";
        };
        /** SamplePeople */
        SamplePeople: {
            items: components["schemas"]["SamplePersonView"][];
        };
        /** SamplePersonView */
        SamplePersonView: {
            avatar_url: string;
            city: string;
            display_name: string;
            role: string;
            timezone: string;
            user_id: string;
        };
        /**
         * SignedIn
         * @description `token` is as your backend would sign it.
         */
        SignedIn: {
            token: string;
            user: components["schemas"]["SamplePersonView"];
        };
        /** SignerView */
        SignerView: {
            at: string | null;
            /** @enum {unknown} */
            state: "declined" | "pending" | "signed";
            user_id: string;
        };
        /** SignIn */
        SignIn: {
            user_id: string;
        };
        /**
         * SimpleConversation
         * @description `unreadCount` has your own count and, between two, what the other has not read as far as
         *         their read receipts tell; that one is counted in the 100 messages after their mark.
         */
        SimpleConversation: {
            createdAt: string;
            id: string;
            /** @description A number where the marketplace's id is one. */
            jobId?: number | string;
            lastMessage?: string;
            lastMessageAt?: string;
            participants: string[];
            unreadCount: {
                [key: string]: number;
            };
            updatedAt: string;
        };
        /** SimpleConversations */
        SimpleConversations: {
            conversations: components["schemas"]["SimpleConversation"][];
        };
        /**
         * SimpleMessage
         * @description `id` is `message_{timestamp}_{id}` with the milliseconds of `createdAt`. What was deleted has
         *         an empty `content`.
         */
        SimpleMessage: {
            content: string;
            conversationId: string;
            createdAt: string;
            fileName?: string;
            fileSize?: number;
            fileUrl?: string;
            id: string;
            receiverId: string;
            senderId: string;
            /** @enum {unknown} */
            status: "delivered" | "read" | "sent";
            /** @enum {unknown} */
            type: "file" | "image" | "text";
            updatedAt: string;
        };
        /** SimpleMessages */
        SimpleMessages: {
            hasMore: boolean;
            messages: components["schemas"]["SimpleMessage"][];
        };
        /** SimpleRead */
        SimpleRead: {
            /** @description `conv_{a}_{b}` with both user ids sorted, or a thread's `thr_…`. */
            conversationId: string;
        };
        /** SimpleReadAnswer */
        SimpleReadAnswer: {
            conversationId: string;
            unreadCount: {
                [key: string]: number;
            };
        };
        /** SimpleSend */
        SimpleSend: {
            /** @description At most 2000 characters. Never cut: refused. */
            content: string;
            fileUrl?: string | null;
            jobId?: (number | string) | null;
            receiverId: string;
            /** @enum {unknown} */
            type: "file" | "image" | "text";
        };
        /** SimpleSent */
        SimpleSent: {
            conversationId: string;
            message: components["schemas"]["SimpleMessage"];
        };
        /** SimpleUpload */
        SimpleUpload: {
            contentType: string;
            fileName: string;
            /** @description Bytes. */
            size: number;
        };
        /**
         * StateView
         * @description `open`: something is still to be decided here; `turn` says by whom.
         */
        StateView: {
            final: boolean;
            label: string;
            open: boolean;
            state: string;
            turn: string[];
        };
        /**
         * SumView
         * @description `kept` is what lies in escrow for the sellers.
         */
        SumView: {
            amendments: components["schemas"]["MoneyView"];
            deposit_held: components["schemas"]["MoneyView"];
            kept: components["schemas"]["MoneyView"];
            paid: components["schemas"]["MoneyView"];
            price: components["schemas"]["MoneyView"];
            refunded: components["schemas"]["MoneyView"];
        };
        /** SyncAnswer */
        SyncAnswer: {
            cursor: string;
            events: components["schemas"]["EventView"][];
            has_more: boolean;
        };
        /**
         * SystemNotice
         * @description What the server says in a thread: a code that clients put into words, and its parts.
         */
        SystemNotice: {
            code: string;
            params: Record<string, unknown>;
        };
        /**
         * TabView
         * @description `count`: how much waits there; null where nothing can wait.
         */
        TabView: {
            available: boolean;
            count: number | null;
            /** @enum {unknown} */
            tab: "actions" | "brief" | "docs" | "expenses" | "files" | "moodboard" | "shotlist";
        };
        /** ThreadItem */
        ThreadItem: {
            inbox: components["schemas"]["InboxView"];
            thread: components["schemas"]["ThreadView"];
        };
        /** ThreadOnly */
        ThreadOnly: {
            thread: components["schemas"]["ThreadView"];
        };
        /** ThreadPage */
        ThreadPage: {
            inbox: components["schemas"]["InboxView"];
            sync_cursor: string;
            thread: components["schemas"]["ThreadView"];
        };
        /**
         * ThreadStarted
         * @description `request` is the gate of a first contact; null where none is needed.
         */
        ThreadStarted: {
            message: components["schemas"]["MessageView"];
            request?: null;
            thread: components["schemas"]["ThreadView"];
        };
        /** ThreadView */
        ThreadView: {
            city: string | null;
            created_at: string;
            group_id: string | null;
            id: string;
            job_id: string | null;
            /** @enum {unknown} */
            kind: "dispute" | "inquiry" | "invite" | "project" | "support" | "system";
            last_message_at: string | null;
            last_sender_id: string | null;
            leg_id: string | null;
            locked: boolean;
            opened_by: string;
            participants: components["schemas"]["ParticipantView"][];
            /** @enum {unknown} */
            request_state: "accepted" | "declined" | "none" | "pending";
            role_context: string | null;
            safe_mode_required: boolean;
            /** @enum {unknown} */
            state: "archived" | "awaiting_reply" | "completed" | "confirmed" | "disputed" | "open" | "pending_decision";
            subject: string | null;
            updated_at: string;
        };
        /** TicketView */
        TicketView: {
            expires_at: string;
            ticket: string;
        };
        /**
         * TierView
         * @description With at least this notice, this part of what was paid is given back.
         */
        TierView: {
            notice_hours: number;
            refund_percent: number;
        };
        /**
         * TimerView
         * @description Fires `after` seconds, at the time in the field `at`, or at the earlier of the two.
         */
        TimerView: {
            action: string;
            after: number | null;
            at: string | null;
            from: string[];
            name: string;
        };
        /** TransitionView */
        TransitionView: {
            action: string;
            by: string[];
            effects: string[];
            from: string[];
            guard: string | null;
            input: Record<string, unknown> | null;
            label: string;
            /** @enum {unknown} */
            style: "danger" | "primary" | "secondary";
            to: string;
            when: string[];
        };
        /**
         * TypingNow
         * @description Say it again every few seconds: it ends by itself 10 seconds after the last time.
         */
        TypingNow: {
            on: boolean;
        };
        /**
         * UpcomingView
         * @description Something that happens by itself. `card_expires` and `review_ends` name the card.
         */
        UpcomingView: {
            at: string;
            card_id: string | null;
            /** @enum {unknown} */
            kind: "card_expires" | "leg_ends" | "leg_starts" | "review_ends";
            leg_id: string | null;
        };
        /**
         * UserChanges
         * @description What to change; a field left out keeps its value, null clears it.
         */
        UserChanges: {
            age_verified?: boolean;
            avatar_url?: string | null;
            display_name?: string;
            locale?: string | null;
            roles?: string[];
            timezone?: string | null;
            verified?: boolean;
        };
        /**
         * UserView
         * @description A person. Times are RFC 3339 in UTC with milliseconds.
         */
        UserView: {
            age_verified: boolean;
            avatar_url: string | null;
            created_at: string;
            display_name: string;
            locale: string | null;
            roles: string[];
            timezone: string | null;
            updated_at: string;
            user_id: string;
            verified: boolean;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
